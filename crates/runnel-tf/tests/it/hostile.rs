//! Broadcasters that would fill memory.

use core::time::Duration;

use runnel_tf::{BufferCore, BufferLimits, InsertError};

use crate::messages::{along_x, set, set_static, stamped, x};

fn small(limits: BufferLimits) -> BufferCore {
    BufferCore::with_limits(Duration::from_secs(1000), limits)
}

#[test]
fn number_of_frames_is_limited() {
    let mut buffer = small(BufferLimits { frames: 3, ..BufferLimits::default() });
    set(&mut buffer, "map", "a", 1000, along_x(1.0));
    set(&mut buffer, "map", "b", 1000, along_x(1.0));
    let refused = stamped("map", "c", 1000, along_x(1.0));
    let limit = InsertError::TooManyFrames { limit: 3 };
    assert_eq!(buffer.set_transform(&refused, "", false), Err(limit));
    assert!(limit.to_string().contains("3 frames"));
    set(&mut buffer, "map", "a", 2000, along_x(2.0));
    assert_eq!((x(&buffer, "map", "a", 2000), buffer.frames().len()), (2.0, 3));
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
    let mut buffer = small(BufferLimits { transforms: 20, ..BufferLimits::default() });
    for time in 1..=5 {
        set(&mut buffer, "map", "base", time, along_x(time as f64));
    }
    for time in 1..=1000 {
        set(&mut buffer, "map", "flood", time, along_x(1.0));
    }
    assert_eq!(buffer.transform_count(), 20);
    assert_eq!(x(&buffer, "map", "base", 1), 1.0, "its history is complete");
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
