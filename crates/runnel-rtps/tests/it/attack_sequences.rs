//! Sequences of forged datagrams found by the stateful fuzzer, each of which once left a link dead.

use crate::attack::Step::{self, Advance, Blackout, Publish};
use crate::attack::{Attack, play_steps};

fn attack(attack: Attack, args: [u8; 4]) -> Step {
    Step::Attack { attack, args }
}

#[track_caller]
fn check(seed: u8, steps: &[Step]) {
    if let Err(why) = play_steps(seed, steps, |_| true) {
        panic!("{why}");
    }
}

/// The GAP restores the participant, and is the first submessage of the writer since.
#[test]
fn gap_that_restores_participant_ends_no_link() {
    check(
        0xcd,
        &[
            Publish { link: 0, count: 7 },
            attack(Attack::Replay, [28, 203, 230, 101]),
            attack(Attack::AckNack, [236, 16, 211, 56]),
            attack(Attack::AlterSample, [65, 23, 32, 206]),
            attack(Attack::DisposeParticipant, [97, 181, 170, 235]),
            attack(Attack::DisposeParticipant, [26, 221, 144, 1]),
            Blackout { millis: 712 },
            attack(Attack::Gap, [190, 121, 28, 164]),
        ],
    );
}

/// The GAP ends just before the first announcement of an endpoint: nothing seems to be missing.
#[test]
fn gap_of_discovery_hides_no_endpoint() {
    check(
        0xb8,
        &[
            attack(Attack::DisposeEndpoint, [32, 95, 85, 158]),
            attack(Attack::DisposeParticipant, [201, 108, 5, 200]),
            Blackout { millis: 507 },
            attack(Attack::Gap, [158, 31, 211, 204]),
        ],
    );
}

/// The altered announcement restores the participant: it arrives before the true one, with the same number.
#[test]
fn altered_announcement_that_restores_participant_is_replaced() {
    check(
        0x04,
        &[
            Advance { millis: 500 },
            Advance { millis: 150 },
            Blackout { millis: 242 },
            attack(Attack::DisposeEndpoint, [99, 180, 8, 46]),
            Advance { millis: 500 },
            attack(Attack::Invent, [131, 159, 7, 64]),
            attack(Attack::DisposeParticipant, [255, 155, 3, 136]),
            Advance { millis: 500 },
            attack(Attack::AlterAnnouncement, [103, 126, 143, 24]),
        ],
    );
}

#[test]
fn gap_of_newly_matched_writer_and_forged_end_end_no_link() {
    let end = attack(Attack::DisposeParticipant, [150, 235, 69, 30]);
    check(0xab, &[attack(Attack::Gap, [40, 134, 170, 144]), end]);
    let end = attack(Attack::DisposeParticipant, [53, 158, 6, 96]);
    check(0xc8, &[attack(Attack::Gap, [91, 29, 117, 96]), end]);
}

/// The second disposal seems to confirm the first.
#[test]
fn endpoint_disposed_twice_is_restored() {
    check(
        0x72,
        &[
            Advance { millis: 2000 },
            attack(Attack::DisposeEndpoint, [238, 202, 113, 161]),
            attack(Attack::DisposeEndpoint, [182, 0, 95, 158]),
        ],
    );
}

/// The altered announcement takes the number of the true one while discovery is read again, so that reader is not
/// announced.
#[test]
fn altered_announcement_of_discovery_read_again_hides_no_endpoint() {
    check(
        0xe8,
        &[
            Publish { link: 2, count: 4 },
            Publish { link: 3, count: 7 },
            Publish { link: 1, count: 7 },
            Advance { millis: 20 },
            attack(Attack::Gap, [50, 191, 154, 244]),
            attack(Attack::Invent, [96, 196, 146, 187]),
            attack(Attack::DisposeParticipant, [211, 89, 51, 80]),
            Advance { millis: 150 },
            Blackout { millis: 634 },
            Publish { link: 1, count: 4 },
            attack(Attack::AlterSample, [93, 61, 130, 65]),
            attack(Attack::AlterAnnouncement, [175, 184, 24, 16]),
        ],
    );
}

/// The first HEARTBEAT makes the reader jump ahead, and the writer is matched again before anything contradicts that:
/// its next HEARTBEAT ends before the position, and must not confirm it.
#[test]
fn heartbeat_before_position_does_not_confirm_it() {
    check(
        0x0b,
        &[
            attack(Attack::Heartbeat, [160, 197, 49, 24]),
            Publish { link: 1, count: 5 },
            attack(Attack::AlterNumber, [236, 104, 213, 188]),
            attack(Attack::DisposeParticipant, [226, 86, 33, 22]),
            Blackout { millis: 771 },
            attack(Attack::Heartbeat, [217, 160, 50, 132]),
            attack(Attack::DisposeParticipant, [130, 104, 200, 68]),
            Blackout { millis: 292 },
            Advance { millis: 150 },
            attack(Attack::DisposeParticipant, [102, 218, 9, 74]),
        ],
    );
}
