//! Whether a process sleeps, so that its doorbell is rung only then.
//!
//! The first word of a page that the process writes and its peers read is an epoch: odd while it sleeps or is about to.
//!
//! ```text
//!  sleeper                         ringer
//!  epoch = odd                     record committed in its ring
//!  fence                           fence
//!  looks at all rings once more    reads the epoch: odd, and not the one that it rang for last: rings
//!  sleeps until the doorbell rings
//!  epoch = even
//! ```
//! Either the sleeper sees the record or the ringer sees the odd epoch, by the two fences. One ring an epoch is enough:
//! the sleeper looks at its rings after it woke and before it sleeps again, with an epoch of its own.

use super::cells::{Cells, OwnCells};

/// Where the epoch lies in the cells that are passed here.
const EPOCH: usize = 0;

/// Announces that the process is about to sleep, in its own page. It must look at all its rings after this and before it
/// sleeps.
pub(crate) fn fall_asleep(page: &(impl OwnCells + ?Sized)) -> u64 {
    let epoch = (page.load(EPOCH).wrapping_add(1)) | 1;
    page.store(EPOCH, epoch);
    page.fence();
    epoch
}

/// Announces in its own page that the process is awake, whether or not it slept after all. Records that are committed
/// from here on ring no bell, so it must look at its rings after this.
pub(crate) fn wake_up(page: &(impl OwnCells + ?Sized)) -> u64 {
    let epoch = page.load(EPOCH).wrapping_add(1) & !1;
    // Needs no order: a peer that reads the epoch of before rings once too often.
    page.store(EPOCH, epoch);
    epoch
}

/// The epoch of a sleeper that this side rang for last. One for all that this side may ring the sleeper for.
#[derive(Debug, Default)]
pub(crate) struct Rung(u64);

impl Rung {
    /// True if the peer with this page must be rung for what was just committed. The caller does ring then.
    ///
    /// A peer with a falsified epoch is rung for each record at the worst, or never, and harms itself alone.
    #[inline]
    pub(crate) fn should_ring(&mut self, page: &(impl Cells + ?Sized)) -> bool {
        page.fence();
        let epoch = page.load(EPOCH);
        if epoch & 1 == 0 || epoch == self.0 {
            return false;
        }
        self.0 = epoch;
        true
    }
}
