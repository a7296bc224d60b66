//! Guests that wait for messages.

use runnel_wasm::Ended;

use super::adder::{ADDER, Native};
use super::{checkpoint, for_both_engines, unlimited};
use crate::guests::{TIMEOUT, start_from, start_in};

#[test]
fn waiting_guest_goes_on_in_the_other_engine() {
    let (native, programs) = (Native::new(), for_both_engines(ADDER));
    let mut guest = start_in(&programs[0], unlimited(), native.context_of_guest());
    let mut sum = 0;
    for turn in 1..5 {
        native.wait_for_guest();
        for number in 1..10 {
            native.send(number * turn);
            assert_eq!(native.next_sum(sum), sum + number * turn);
            sum += number * turn;
        }
        let taken = checkpoint(&guest, true);
        assert_eq!(guest.end().unwrap(), Ended::Stopped);
        assert!(native.numbers.wait_for_subscribers(0, TIMEOUT).unwrap());
        guest = start_from(&taken, &programs[turn as usize % 2], unlimited(), native.context_of_guest());
    }
    guest.control.shutdown();
    assert_eq!(guest.end().unwrap(), Ended::Returned);
}

#[test]
fn guest_goes_on_after_a_checkpoint_and_is_restored_as_it_was() {
    let (native, programs) = (Native::new(), for_both_engines(ADDER));
    let guest = start_in(&programs[0], unlimited(), native.context_of_guest());
    native.wait_for_guest();
    native.send(5);
    assert_eq!(native.next_sum(0), 5);
    let taken = checkpoint(&guest, false);
    native.send(2);
    assert_eq!(native.next_sum(5), 7, "the guest goes on");
    guest.control.shutdown();
    assert_eq!(guest.end().unwrap(), Ended::Returned);
    for program in &programs {
        let restored = start_from(&taken, program, unlimited(), native.context_of_guest());
        // It begins again where it was.
        native.last.set(0);
        native.wait_for_guest();
        native.send(100);
        assert_eq!(native.next_sum(5), 105, "the checkpoint is as it was");
        restored.control.stop();
        assert_eq!(restored.end().unwrap(), Ended::Stopped);
    }
}
