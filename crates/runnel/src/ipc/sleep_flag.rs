//! Sleep flag of a process, so that its doorbell is rung only while it sleeps.
//!
//! The first word of a page that the process writes and its peers read is an epoch. It is odd while the process sleeps
//! or is about to.
//!
//! ```text
//!  sleeper                            ringer
//!  epoch = odd                        commits a record in its ring
//!  fence                           fence
//!  checks all rings once more         reads the epoch: rings if it is odd and not the last one it rang for
//!  sleeps until the doorbell rings
//!  epoch = even
//! ```
//! By the two fences, either the sleeper sees the record or the ringer sees the odd epoch. One ring per epoch is
//! enough: the sleeper checks its rings after it woke and, with a new epoch, before it sleeps again.

use super::cells::{Cells, OwnCells};

/// Index of the epoch in the cells passed here.
const EPOCH: usize = 0;

/// Announces in its own page that the process is about to sleep. The process must check all its rings after this and
/// before it sleeps.
pub(crate) fn fall_asleep(page: &(impl OwnCells + ?Sized)) -> u64 {
    let epoch = (page.load(EPOCH).wrapping_add(1)) | 1;
    page.store(EPOCH, epoch);
    page.fence();
    epoch
}

/// Announces in its own page that the process is awake, whether or not it slept. Later records ring no doorbell, so
/// the process must check its rings after this.
pub(crate) fn wake_up(page: &(impl OwnCells + ?Sized)) -> u64 {
    let epoch = page.load(EPOCH).wrapping_add(1) & !1;
    // Needs no order: a peer that reads the previous epoch rings once too often.
    page.store(EPOCH, epoch);
    epoch
}

/// The last epoch of a sleeping peer for which this side rang. There is one per peer, for all reasons to ring.
#[derive(Debug, Default)]
pub(crate) struct NotifiedEpoch(u64);

impl NotifiedEpoch {
    /// True if the peer with this page must be rung for the record just committed. The caller then rings.
    ///
    /// A peer with a falsified epoch is rung for each record at worst, or never. It harms only itself.
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
