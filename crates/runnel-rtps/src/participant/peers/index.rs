//! Running totals over participants, and candidates in displacement order: invented announcements and endpoints by the
//! thousand must not cost a scan of all known participants.

use super::Peer;
use crate::wire::GuidPrefix;
use core::net::IpAddr;
use runnel_core::sorted::{SortedMap, SortedSet};

/// Displacement order of a candidate: whether it has sent more than announcements, whether it is local, and its ordinal
/// number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    is_talking: bool,
    same_host: bool,
    order: u64,
    prefix: GuidPrefix,
}

/// Indexed data of a participant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    ip: IpAddr,
    endpoint_bytes: usize,
    place: Option<Place>,
}

/// Index of participants.
#[derive(Debug, Default)]
pub(in crate::participant) struct Index {
    candidates: SortedSet<Place>,
    endpoint_bytes: usize,
    endpoint_bytes_at: SortedMap<IpAddr, usize>,
}

impl Peer {
    pub(super) fn entry(&self) -> Entry {
        let Self { is_talking, same_host, order, .. } = *self;
        let place = Place { is_talking, same_host, order, prefix: self.data.prefix };
        let place = (!self.is_proved()).then_some(place);
        Entry { ip: self.metatraffic.ip(), endpoint_bytes: self.endpoint_bytes, place }
    }
}

impl Index {
    pub(super) fn add(&mut self, entry: Entry) {
        self.candidates.extend(entry.place);
        if entry.endpoint_bytes > 0 {
            self.endpoint_bytes += entry.endpoint_bytes;
            *self.endpoint_bytes_at.entry(entry.ip).or_default() += entry.endpoint_bytes;
        }
    }

    pub(super) fn remove(&mut self, entry: Entry) {
        if let Some(place) = entry.place {
            self.candidates.remove(&place);
        }
        self.endpoint_bytes -= entry.endpoint_bytes;
        if let Some(bytes) = self.endpoint_bytes_at.get_mut(&entry.ip) {
            *bytes -= entry.endpoint_bytes;
            if *bytes == 0 {
                self.endpoint_bytes_at.remove(&entry.ip);
            }
        }
    }

    /// Returns the number of unproved participants.
    pub fn candidates(&self) -> usize {
        self.candidates.len()
    }

    /// Returns the bytes of all endpoints.
    pub fn endpoint_bytes(&self) -> usize {
        self.endpoint_bytes
    }

    /// Returns the bytes of the endpoints of participants at one address.
    pub fn endpoint_bytes_at(&self, ip: IpAddr) -> usize {
        self.endpoint_bytes_at.get(&ip).copied().unwrap_or(0)
    }

    /// Returns the oldest candidate that has only announced itself, or that has sent more; a local one only if
    /// `may_be_local`.
    pub(super) fn oldest(&self, is_talking: bool, may_be_local: bool) -> Option<GuidPrefix> {
        let first = |same_host| {
            let begin = Place { is_talking, same_host, order: 0, prefix: GuidPrefix::UNKNOWN };
            let is_one = |place: &&Place| (place.is_talking, place.same_host) == (is_talking, same_host);
            self.candidates.range(begin..).next().filter(is_one)
        };
        let local = first(true).filter(|_| may_be_local);
        let oldest = local.into_iter().chain(first(false)).min_by_key(|place| place.order)?;
        Some(oldest.prefix)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(order: u8, is_talking: bool, same_host: bool) -> Entry {
        let place = Place { is_talking, same_host, order: order.into(), prefix: GuidPrefix([order; 12]) };
        Entry { ip: [10, 0, 0, order / 4].into(), endpoint_bytes: 100, place: Some(place) }
    }

    #[test]
    fn oldest_silent_candidate_makes_room() {
        let mut index = Index::default();
        let all = [(1, true, false), (2, false, true), (3, false, false), (4, false, false), (5, true, true)];
        let all = all.map(|(order, is_talking, same_host)| entry(order, is_talking, same_host));
        all.into_iter().for_each(|entry| index.add(entry));
        let oldest = |index: &Index, talking, local| index.oldest(talking, local).map(|prefix| prefix.0[0]);
        assert_eq!([false, true].map(|local| oldest(&index, false, local)), [Some(3), Some(2)]);
        assert_eq!([false, true].map(|local| oldest(&index, true, local)), [Some(1), Some(1)]);
        [all[1], all[2], all[3]].into_iter().for_each(|entry| index.remove(entry));
        assert_eq!(oldest(&index, false, true), None);
    }

    #[test]
    fn totals_follow_what_is_added_and_removed() {
        let mut index = Index::default();
        let all = [1, 2, 5].map(|order| entry(order, false, false));
        all.into_iter().for_each(|entry| index.add(entry));
        let totals = |index: &Index| {
            let [one, other] = [0, 1].map(|host| index.endpoint_bytes_at([10, 0, 0, host].into()));
            (index.candidates(), index.endpoint_bytes(), one, other)
        };
        assert_eq!(totals(&index), (3, 300, 200, 100));
        [all[0], all[2]].into_iter().for_each(|entry| index.remove(entry));
        assert_eq!(totals(&index), (1, 100, 100, 0));
    }
}
