//! Why look-ups fail, and why transforms are refused: tf2's cases.

use runnel_tf::{Available, BufferCore, InsertError, LATEST, Transform, TransformError};

use crate::messages::{along_x, at, set, set_static, stamped};

fn error(buffer: &BufferCore, target: &str, source: &str, milliseconds: i64) -> TransformError {
    let error = buffer.lookup_transform(target, source, at(milliseconds)).expect_err("an error");
    assert_eq!(buffer.check_transform(target, source, at(milliseconds)), Err(error.clone()));
    error
}

#[test]
fn unknown_frame_is_named_with_its_argument() {
    let mut buffer = BufferCore::default();
    set(&mut buffer, "map", "base", 1000, along_x(1.0));
    let unknown = |argument, frame: &str| TransformError::Lookup { argument, frame: frame.to_owned() };
    assert_eq!(error(&buffer, "map", "nowhere", 1000), unknown("source_frame", "nowhere"));
    assert_eq!(error(&buffer, "nowhere", "map", 0), unknown("target_frame", "nowhere"));
    let full = buffer.lookup_transform_full(("map", at(1000)), ("base", at(1000)), "nowhere");
    assert_eq!(full.unwrap_err(), unknown("fixed_frame", "nowhere"));
}

#[test]
fn unconnected_trees_are_reported() {
    let mut buffer = BufferCore::default();
    set(&mut buffer, "map", "base", 1000, along_x(1.0));
    set(&mut buffer, "moon", "rover", 1000, along_x(1.0));
    let apart = TransformError::Connectivity { target: "base".into(), source: "rover".into() };
    assert_eq!(error(&buffer, "base", "rover", 1000), apart);
    assert_eq!(error(&buffer, "base", "rover", 0), apart);
}

#[test]
fn times_outside_of_the_history_are_reported() {
    let mut buffer = BufferCore::default();
    set_static(&mut buffer, "base", "camera", along_x(1.0));
    set(&mut buffer, "map", "base", 1000, along_x(1.0));
    let expected = |milliseconds, available| TransformError::Extrapolation {
        requested: at(milliseconds),
        available,
        frame: "base".into(),
        target: "map".into(),
        source: "camera".into(),
    };
    assert_eq!(error(&buffer, "map", "camera", 900), expected(900, Available::Only(at(1000))));
    set(&mut buffer, "map", "base", 2000, along_x(1.0));
    assert_eq!(error(&buffer, "map", "camera", 2001), expected(2001, Available::Until(at(2000))));
    assert_eq!(error(&buffer, "map", "camera", 999), expected(999, Available::Since(at(1000))));
}

#[test]
fn missing_time_above_the_common_ancestor_does_not_matter() {
    let mut buffer = BufferCore::default();
    set(&mut buffer, "map", "base", 1000, along_x(1.0));
    set(&mut buffer, "base", "left", 2000, along_x(1.0));
    set(&mut buffer, "base", "right", 2000, along_x(3.0));
    let found = buffer.lookup_transform("left", "right", at(2000)).unwrap();
    assert_eq!(found.transform.translation.x, 2.0);
    assert!(matches!(error(&buffer, "map", "left", 2000), TransformError::Extrapolation { .. }));
}

#[test]
fn latest_times_that_do_not_overlap_are_reported() {
    let mut buffer = BufferCore::default();
    set(&mut buffer, "map", "odom", 1000, along_x(1.0));
    set(&mut buffer, "odom", "base", 2000, along_x(1.0));
    set(&mut buffer, "odom", "base", 3000, along_x(1.0));
    let error = error(&buffer, "map", "base", 0);
    let TransformError::Extrapolation { requested, available, frame, .. } = error else { panic!("{error}") };
    assert_eq!((requested, available, &*frame), (at(1000), Available::Since(at(2000)), "base"));
}

#[test]
fn invalid_frame_names_are_refused() {
    let mut buffer = BufferCore::default();
    set(&mut buffer, "map", "base", 1000, along_x(1.0));
    let invalid =
        |argument, frame: &str| TransformError::InvalidArgument { argument, frame: frame.to_owned() };
    assert_eq!(error(&buffer, "", "base", 0), invalid("target_frame", ""));
    assert_eq!(error(&buffer, "map", "/base", 0), invalid("source_frame", "/base"));
    let full = buffer.lookup_transform_full(("map", LATEST), ("base", LATEST), "/map");
    assert_eq!(full.unwrap_err(), invalid("fixed_frame", "/map"));
}

#[test]
fn unsound_transforms_are_refused() {
    let mut buffer = BufferCore::default();
    let mut refused =
        |parent: &str, child: &str, change: fn(&mut runnel_msgs::geometry_msgs::msg::Transform)| {
            let mut message = stamped(parent, child, 1000, Transform::IDENTITY);
            change(&mut message.transform);
            buffer.set_transform(&message, "", false).expect_err("an error")
        };
    assert_eq!(refused("a", "a", |_| ()), InsertError::SelfTransform);
    assert_eq!(refused("/a", "a", |_| ()), InsertError::SelfTransform);
    assert_eq!(refused("", "a", |_| ()), InsertError::NoFrameId);
    assert_eq!(refused("a", "/", |_| ()), InsertError::NoChildFrameId);
    assert_eq!(refused("a", "b", |t| t.translation.y = f64::NAN), InsertError::NotFinite);
    assert_eq!(refused("a", "b", |t| t.translation.y = f64::INFINITY), InsertError::NotFinite);
    assert_eq!(refused("a", "b", |t| t.rotation.x = f64::NAN), InsertError::NotFinite);
    assert_eq!(refused("a", "b", |t| t.rotation.w = 0.0), InsertError::DenormalizedQuaternion);
    assert_eq!(refused("a", "b", |t| t.rotation.w = 1.006), InsertError::DenormalizedQuaternion);
    assert!(buffer.frames().is_empty(), "refused transforms add no frames");
}

#[test]
fn loop_is_reported_and_does_not_hang() {
    let mut buffer = BufferCore::default();
    set(&mut buffer, "a", "b", 1000, along_x(1.0));
    set(&mut buffer, "b", "c", 1000, along_x(1.0));
    set(&mut buffer, "c", "a", 1000, along_x(1.0));
    set(&mut buffer, "moon", "rover", 1000, along_x(1.0));
    for time in [0, 1000] {
        assert!(matches!(error(&buffer, "rover", "a", time), TransformError::Loop { .. }));
        assert!(matches!(error(&buffer, "c", "rover", time), TransformError::Loop { .. }));
    }
    // Within the loop one frame is the ancestor of the other.
    assert!(buffer.can_transform("a", "c", LATEST));
}
