//! What tf2 documents of look-ups.

use core::f64::consts::FRAC_PI_2;
use core::time::Duration;

use runnel_core::time::Time;
use runnel_tf::{BufferCore, LATEST, Quaternion, Transform, Vector3};

use crate::messages::{along_x, at, set, set_static, stamped, x};

#[test]
fn look_up_goes_up_down_and_through_the_ancestor() {
    let mut buffer = BufferCore::default();
    set(&mut buffer, "map", "odom", 1000, along_x(1.0));
    set(&mut buffer, "odom", "base", 1000, along_x(2.0));
    set(&mut buffer, "odom", "camera", 1000, along_x(5.0));
    assert_eq!((x(&buffer, "map", "base", 1000), x(&buffer, "base", "map", 1000)), (3.0, -3.0));
    assert_eq!((x(&buffer, "base", "camera", 1000), x(&buffer, "camera", "base", 1000)), (3.0, -3.0));
    assert_eq!(buffer.frames_between("base", "camera").unwrap(), ["camera", "odom", "base"]);
    assert_eq!(buffer.frames_between("map", "base").unwrap(), ["base", "odom", "map"]);
    assert_eq!(buffer.frames_between("base", "map").unwrap(), ["map", "odom", "base"]);
    assert_eq!(buffer.frames_between("base", "base").unwrap(), ["base"]);
}

#[test]
fn answer_names_target_source_and_time() {
    let mut buffer = BufferCore::default();
    set(&mut buffer, "map", "base", 1000, along_x(1.0));
    let found = buffer.lookup_transform("base", "map", at(1000)).unwrap();
    assert_eq!((&*found.header.frame_id, &*found.child_frame_id), ("base", "map"));
    assert_eq!(found.header.stamp, at(1000));
}

#[test]
fn child_rotates_before_it_moves() {
    let mut buffer = BufferCore::default();
    let turned = Quaternion::from_rpy(0.0, 0.0, FRAC_PI_2);
    set(&mut buffer, "map", "odom", 1000, Transform::new(Vector3::new(1.0, 0.0, 0.0), turned));
    set(&mut buffer, "odom", "base", 1000, along_x(2.0));
    let found = Transform::from(buffer.lookup_transform("map", "base", LATEST).unwrap().transform);
    assert!((found.translation - Vector3::new(1.0, 2.0, 0.0)).norm() < 1e-12, "{found:?}");
    assert!(found.rotation.angle_to(turned) < 1e-12);
}

#[test]
fn transform_between_two_times_is_interpolated() {
    let mut buffer = BufferCore::default();
    let turned = |yaw: f64| Quaternion::from_rpy(0.0, 0.0, yaw);
    set(&mut buffer, "map", "base", 1000, Transform::new(Vector3::new(0.0, 0.0, 0.0), turned(0.0)));
    set(&mut buffer, "map", "base", 2000, Transform::new(Vector3::new(4.0, 8.0, 0.0), turned(1.0)));
    let found = Transform::from(buffer.lookup_transform("map", "base", at(1250)).unwrap().transform);
    assert!((found.translation - Vector3::new(1.0, 2.0, 0.0)).norm() < 1e-12);
    assert!(found.rotation.angle_to(turned(0.25)) < 1e-9);
}

#[test]
fn time_zero_is_the_latest_common_time() {
    let mut buffer = BufferCore::default();
    for (time, x) in [(1000, 1.0), (2000, 2.0), (3000, 3.0)] {
        set(&mut buffer, "map", "odom", time, along_x(x));
    }
    for (time, x) in [(1000, 10.0), (2000, 20.0)] {
        set(&mut buffer, "odom", "base", time, along_x(x));
    }
    set_static(&mut buffer, "base", "camera", along_x(100.0));
    let found = buffer.lookup_transform("map", "camera", LATEST).unwrap();
    assert_eq!((found.header.stamp, found.transform.translation.x), (at(2000), 122.0));
    assert_eq!(buffer.latest_common_time("map", "base"), Ok(at(2000)));
    assert_eq!(buffer.latest_common_time("map", "odom"), Ok(at(3000)), "only frames between count");
    assert_eq!(buffer.latest_common_time("base", "camera"), Ok(LATEST), "static transforms have no time");
}

#[test]
fn static_transform_holds_at_every_time() {
    let mut buffer = BufferCore::default();
    set_static(&mut buffer, "base", "camera", along_x(1.0));
    for time in [0, 1, 1_000_000_000] {
        assert_eq!(x(&buffer, "base", "camera", time), 1.0);
    }
    set_static(&mut buffer, "base", "camera", along_x(2.0));
    assert_eq!(x(&buffer, "base", "camera", 5), 2.0, "the last one replaces it");
}

#[test]
fn last_kind_of_transform_replaces_the_other() {
    let mut buffer = BufferCore::default();
    set_static(&mut buffer, "base", "camera", along_x(1.0));
    set(&mut buffer, "base", "camera", 1000, along_x(2.0));
    assert_eq!(x(&buffer, "base", "camera", 0), 2.0);
    assert!(!buffer.can_transform("base", "camera", at(2000)));
    set_static(&mut buffer, "base", "camera", along_x(3.0));
    assert_eq!(x(&buffer, "base", "camera", 2000), 3.0);
    assert_eq!(buffer.transform_count(), 1);
}

#[test]
fn frame_to_itself_is_the_identity() {
    let mut buffer = BufferCore::default();
    set(&mut buffer, "map", "base", 1000, along_x(1.0));
    let found = buffer.lookup_transform("base", "base", LATEST).unwrap();
    assert_eq!((Transform::from(found.transform), found.header.stamp), (Transform::IDENTITY, at(1000)));
    // tf2 does not ask whether it knows the frame.
    let unknown = buffer.lookup_transform("nowhere", "nowhere", at(7)).unwrap();
    assert_eq!((Transform::from(unknown.transform), unknown.header.stamp), (Transform::IDENTITY, at(7)));
}

#[test]
fn fixed_frame_joins_two_times() {
    let mut buffer = BufferCore::default();
    set(&mut buffer, "world", "robot", 1000, along_x(1.0));
    set(&mut buffer, "world", "robot", 2000, along_x(5.0));
    // A landmark seen 1 m ahead at 1 s is 3 m behind at 2 s.
    let found = buffer.lookup_transform_full(("robot", at(2000)), ("robot", at(1000)), "world").unwrap();
    assert_eq!((found.transform.translation.x, found.header.stamp), (-4.0, at(2000)));
    let same = buffer.lookup_transform_full(("robot", at(2000)), ("world", at(1000)), "world").unwrap();
    assert_eq!(same.transform, buffer.lookup_transform("robot", "world", at(2000)).unwrap().transform);
}

#[test]
fn frame_may_change_its_parent() {
    let mut buffer = BufferCore::default();
    set_static(&mut buffer, "map", "left", along_x(-10.0));
    set_static(&mut buffer, "map", "right", along_x(10.0));
    set(&mut buffer, "left", "cup", 1000, along_x(1.0));
    set(&mut buffer, "right", "cup", 2000, along_x(2.0));
    assert_eq!(x(&buffer, "map", "cup", 1000), -9.0);
    assert_eq!(
        x(&buffer, "map", "cup", 1500),
        -9.0,
        "it stays with its former parent until it has the other"
    );
    assert_eq!(x(&buffer, "map", "cup", 2000), 12.0);
    assert_eq!(buffer.frame("cup").unwrap().parent.as_deref(), Some("right"));
}

#[test]
fn leading_slash_of_a_broadcaster_is_removed() {
    let mut buffer = BufferCore::default();
    set(&mut buffer, "/map", "/base", 1000, along_x(1.0));
    assert_eq!(x(&buffer, "map", "base", 1000), 1.0);
}

#[test]
fn quaternion_is_normalized() {
    let mut buffer = BufferCore::default();
    let mut message = stamped("map", "base", 1000, Transform::IDENTITY);
    message.transform.rotation.w = 1.004;
    buffer.set_transform(&message, "", false).unwrap();
    let found = buffer.lookup_transform("map", "base", LATEST).unwrap();
    assert_eq!(found.transform.rotation.w, 1.0);
}

#[test]
fn backward_jump_of_time_leaves_static_transforms() {
    let mut buffer = BufferCore::default();
    set_static(&mut buffer, "base", "camera", along_x(1.0));
    set(&mut buffer, "map", "base", 9000, along_x(1.0));
    buffer.clear();
    assert_eq!(x(&buffer, "base", "camera", 0), 1.0);
    assert_eq!((buffer.transform_count(), buffer.frames().len()), (1, 2));
    assert_eq!(buffer.frame("camera").unwrap().authority, "/test");
    assert!(!buffer.can_transform("map", "base", LATEST));
    set(&mut buffer, "map", "base", 10, along_x(4.0));
    assert_eq!(x(&buffer, "map", "camera", 10), 5.0, "earlier times are known again");
}

#[test]
fn deep_tree_is_looked_up() {
    let mut buffer = BufferCore::default();
    for depth in 1..=5000_u32 {
        let [parent, child] = [depth - 1, depth].map(|depth| format!("link_{depth}"));
        set(&mut buffer, &parent, &child, 1000, along_x(1.0));
    }
    assert_eq!(x(&buffer, "link_0", "link_5000", 0), 5000.0);
    assert_eq!(x(&buffer, "link_4999", "link_5000", 1000), 1.0);
}

#[test]
fn frames_are_described() {
    let mut buffer = BufferCore::new(Duration::from_secs(100));
    set_static(&mut buffer, "base", "camera", along_x(1.0));
    for time in [1000, 1500, 3000] {
        set(&mut buffer, "map", "base", time, along_x(1.0));
    }
    let names: Vec<_> = buffer.frames().into_iter().map(|frame| frame.name).collect();
    assert_eq!(names, ["camera", "base", "map"]);
    let base = buffer.frame("base").unwrap();
    assert_eq!((base.parent.as_deref(), &*base.authority, base.is_static), (Some("map"), "/test", false));
    assert_eq!((base.transforms, base.oldest, base.latest), (3, Some(at(1000)), Some(at(3000))));
    assert_eq!((base.rate(), base.span()), (Some(1.0), Some(2.0)));
    let camera = buffer.frame("camera").unwrap();
    assert!(camera.is_static && camera.rate().is_none() && camera.latest.is_none());
    let map = buffer.frame("map").unwrap();
    assert_eq!((map.parent, map.transforms), (None, 0));
    assert_eq!(buffer.frame("nowhere"), None);
    assert_eq!(buffer.cache_time(), Duration::from_secs(100));
    assert!(Time::default().is_zero() && LATEST.is_zero());
}
