//! Slots lent to one peer, recorded in this process's private memory.

use runnel_io::segment::Slot;

use super::outbox::LOANS;

/// The peer released a slot that was not lent to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct NotBorrowed;

/// See the module's documentation. A loan has a number below [`LOANS`], which is reused once the slot was released.
#[derive(Default)]
pub(crate) struct Loans {
    places: Vec<Option<Slot>>,
    free: Vec<u16>,
    bytes: usize,
}

impl Loans {
    /// Number of lent slots.
    pub(crate) fn count(&self) -> usize {
        self.places.len() - self.free.len()
    }

    /// Whether the peer may borrow `bytes` more bytes within `quota`.
    pub(crate) fn has_capacity(&self, bytes: usize, quota: usize) -> bool {
        self.bytes + bytes <= quota && self.count() < LOANS
    }

    /// Lends a slot; `None` if the peer would exceed `quota` bytes, or has too many slots.
    pub(crate) fn lend(&mut self, slot: &Slot, quota: usize) -> Option<u16> {
        if !self.has_capacity(slot.len(), quota) {
            return None;
        }
        let loan = match self.free.pop() {
            Some(loan) => loan,
            None => {
                self.places.push(None);
                (self.places.len() - 1) as u16
            }
        };
        self.places[usize::from(loan)] = Some(slot.clone());
        self.bytes += slot.len();
        Some(loan)
    }

    /// Ends a loan whose slot the peer has released.
    pub(crate) fn release(&mut self, loan: u64) -> Result<(), NotBorrowed> {
        let place =
            usize::try_from(loan).ok().and_then(|index| self.places.get_mut(index)).ok_or(NotBorrowed)?;
        let slot = place.take().ok_or(NotBorrowed)?;
        self.bytes -= slot.len();
        self.free.push(loan as u16);
        Ok(())
    }

    /// The slot of a loan.
    pub(crate) fn slot(&self, loan: u64) -> Option<&Slot> {
        self.places.get(usize::try_from(loan).ok()?)?.as_ref()
    }

    /// Gives up the slot of a loan, which the peer may read for ever: its segment takes no new messages.
    pub(crate) fn give_up(&mut self, loan: u64) -> Option<Slot> {
        let slot = self.places.get_mut(usize::try_from(loan).ok()?)?.take()?;
        slot.segment().retire();
        self.bytes -= slot.len();
        Some(slot)
    }

    /// Gives up all loans, since the peer releases nothing any more.
    pub(crate) fn end(&mut self) {
        for slot in self.places.drain(..).flatten() {
            slot.segment().retire();
        }
        self.free.clear();
        self.bytes = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use runnel_io::segment::Segment;

    fn slot(bytes: usize) -> Slot {
        Segment::new(bytes, 1).unwrap().take().unwrap().freeze(bytes)
    }

    #[test]
    fn unknown_loan_is_not_released() {
        let mut loans = Loans::default();
        let loan = loans.lend(&slot(64), 1000).unwrap();
        assert_eq!((loans.release(7), loans.release(u64::MAX)), (Err(NotBorrowed), Err(NotBorrowed)));
        assert_eq!(loans.release(loan.into()), Ok(()));
        assert_eq!(loans.release(loan.into()), Err(NotBorrowed));
    }

    #[test]
    fn peer_borrows_within_its_quota() {
        let (mut loans, slot) = (Loans::default(), slot(100));
        let first = loans.lend(&slot, 200).unwrap();
        assert!(loans.lend(&slot, 200).is_some() && loans.lend(&slot, 299).is_none());
        loans.release(first.into()).unwrap();
        assert_eq!((loans.count(), loans.lend(&slot, 200)), (1, Some(first)));
    }

    #[test]
    fn loans_are_limited_by_return_ring() {
        let (mut loans, slot) = (Loans::default(), slot(1));
        assert_eq!((0..LOANS + 5).filter_map(|_| loans.lend(&slot, usize::MAX)).count(), LOANS);
    }

    #[test]
    fn slots_of_ended_peer_are_not_reused() {
        let segment = Segment::new(64, 2).unwrap();
        let mut loans = Loans::default();
        loans.lend(&segment.take().unwrap().freeze(10), 1000).unwrap();
        loans.end();
        assert!(segment.is_retired() && segment.take().is_none());
        assert_eq!((segment.in_use(), loans.count()), (0, 0));
    }
}
