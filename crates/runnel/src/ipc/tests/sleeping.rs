//! Sleep flag and ringing, one step at a time.

use super::super::sleep_flag::{NotifiedEpoch, fall_asleep, wake_up};
use super::zeros;

#[test]
fn sleeper_is_rung_once_per_sleep() {
    let (page, mut notified) = (zeros(1), NotifiedEpoch::default());
    for _ in 0..3 {
        assert!(!notified.should_ring(&*page));
        fall_asleep(&*page);
        assert!(notified.should_ring(&*page));
        assert!(!notified.should_ring(&*page));
        wake_up(&*page);
    }
}

#[test]
fn every_peer_rings_independently() {
    let (page, mut one, mut other) = (zeros(1), NotifiedEpoch::default(), NotifiedEpoch::default());
    fall_asleep(&*page);
    assert_eq!([one.should_ring(&*page), other.should_ring(&*page)], [true, true]);
}

#[test]
fn epochs_grow_and_are_odd_during_sleep() {
    let page = zeros(1);
    let epochs = [fall_asleep(&*page), fall_asleep(&*page), wake_up(&*page), wake_up(&*page)];
    assert_eq!(epochs, [1, 3, 4, 4]);
    assert_eq!(fall_asleep(&*page), 5);
}
