//! Broadcasters that would fill memory.

use core::time::Duration;

use runnel_tf::{BufferCore, BufferLimits, InsertError};

use crate::messages::{along_x, set, set_static, stamped, x};

fn small(limits: BufferLimits) -> BufferCore {
    BufferCore::with_limits(Duration::from_secs(1000), limits)
}

fn named(buffer: &BufferCore) -> Vec<String> {
    let mut names: Vec<String> = buffer.frames().into_iter().map(|frame| frame.name).collect();
    names.sort();
    names
}

#[test]
fn new_frame_replaces_least_recently_updated_one() {
    let mut buffer = small(BufferLimits { frames: 3, ..BufferLimits::default() });
    set(&mut buffer, "map", "a", 1000, along_x(1.0));
    set(&mut buffer, "map", "b", 1000, along_x(1.0));
    set(&mut buffer, "map", "a", 2000, along_x(2.0));
    set(&mut buffer, "map", "c", 1000, along_x(3.0));
    assert_eq!(named(&buffer), ["a", "c", "map"]);
    assert_eq!((x(&buffer, "map", "a", 2000), x(&buffer, "a", "c", 1000)), (2.0, 2.0));
    assert_eq!((buffer.replaced_frames(), buffer.transform_count()), (1, 3));
}

#[test]
fn too_low_limit_of_frames_is_reported() {
    let mut buffer = small(BufferLimits { frames: 1, ..BufferLimits::default() });
    let limit = InsertError::TooManyFrames { limit: 1 };
    assert_eq!(buffer.set_transform(&stamped("map", "c", 1000, along_x(1.0)), "", false), Err(limit));
    assert!(limit.to_string().contains("1 frames"));
}

/// A broadcaster that invents names of frames, as children and as parents, replaces its own ones.
#[test]
fn invented_frames_leave_those_of_other_broadcasters() {
    for is_static in [false, true] {
        let mut buffer = small(BufferLimits { frames: 100, ..BufferLimits::default() });
        let mut send = |parent: &str, child: &str, time, authority, is_static| {
            buffer.set_transform(&stamped(parent, child, time, along_x(1.0)), authority, is_static).unwrap();
        };
        send("base", "camera", 0, "/robot", true);
        send("odom", "base", 1000, "/robot", false);
        send("map", "odom", 1000, "/localization", false);
        for number in 0..5000 {
            send("map", &format!("invented{number}"), 1000, "/liar", is_static);
            send(&format!("above{number}"), "own", 1000 + i64::from(number), "/liar", is_static);
        }
        assert_eq!(x(&buffer, "map", "camera", 1000), 3.0);
        assert!(buffer.frames().len() <= 100, "{}", buffer.frames().len());
        assert!(buffer.replaced_frames() > 4000);
        assert_eq!(buffer.frame("invented4999").map(|frame| frame.authority).as_deref(), Some("/liar"));
    }
}

#[test]
fn frames_of_an_invented_tree_go_with_the_next_clear() {
    let mut buffer = small(BufferLimits { frames: 3, ..BufferLimits::default() });
    set_static(&mut buffer, "base", "camera", along_x(1.0));
    set(&mut buffer, "invented", "base", 1000, along_x(1.0));
    buffer.clear();
    set(&mut buffer, "map", "base", 1000, along_x(1.0));
    assert_eq!(x(&buffer, "map", "camera", 1000), 2.0);
}

#[test]
fn length_of_names_is_limited() {
    let mut buffer = small(BufferLimits { name_bytes: 4, ..BufferLimits::default() });
    set(&mut buffer, "/four", "base", 1000, along_x(1.0));
    for (parent, child) in [("five5", "a"), ("a", "five5")] {
        let refused = stamped(parent, child, 1000, along_x(1.0));
        assert_eq!(buffer.set_transform(&refused, "", false), Err(InsertError::NameTooLong { limit: 4 }));
    }
}

#[test]
fn history_of_one_frame_is_limited() {
    let mut buffer = small(BufferLimits { transforms_per_frame: 3, ..BufferLimits::default() });
    for time in 1..=10 {
        set(&mut buffer, "map", "base", time, along_x(time as f64));
    }
    let base = buffer.frame("base").unwrap();
    assert_eq!((base.transforms, buffer.transform_count()), (3, 3));
    assert_eq!((x(&buffer, "map", "base", 8), x(&buffer, "map", "base", 10)), (8.0, 10.0));
}

#[test]
fn flood_of_one_frame_costs_that_frame() {
    let mut buffer = small(BufferLimits { transforms: 25, ..BufferLimits::default() });
    for frame in ["base", "flood", "tip"] {
        (1..=5).for_each(|time| set(&mut buffer, "map", frame, time, along_x(time as f64)));
    }
    for time in 6..=1000 {
        set(&mut buffer, "map", "flood", time, along_x(1.0));
    }
    assert_eq!(buffer.transform_count(), 25);
    for frame in ["base", "tip"] {
        assert_eq!(x(&buffer, "map", frame, 1), 1.0, "the history of {frame} is complete");
    }
    assert_eq!(buffer.frame("flood").unwrap().transforms, 15);
}

#[test]
fn each_frame_keeps_a_transform() {
    let mut buffer = small(BufferLimits { transforms: 2, ..BufferLimits::default() });
    for frame in ["a", "b", "c", "d"] {
        set(&mut buffer, "map", frame, 1, along_x(1.0));
        set(&mut buffer, "map", frame, 2, along_x(2.0));
    }
    assert_eq!(buffer.transform_count(), 4, "one each, although the limit is lower");
    assert_eq!((x(&buffer, "map", "a", 2), x(&buffer, "map", "d", 2)), (2.0, 2.0));
}
