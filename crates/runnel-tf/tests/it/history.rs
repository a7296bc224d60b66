//! Which transforms are kept, and for how long.

use core::time::Duration;

use runnel_tf::{BufferCore, InsertError};

use crate::messages::{along_x, at, set, stamped, x};

#[test]
fn transforms_older_than_the_cache_time_go() {
    let mut buffer = BufferCore::new(Duration::from_secs(1));
    for time in [1000, 1500, 2000] {
        set(&mut buffer, "map", "base", time, along_x(time as f64));
    }
    assert_eq!(x(&buffer, "map", "base", 1000), 1000.0, "it is exactly as old as it may be");
    set(&mut buffer, "map", "base", 2001, along_x(2001.0));
    assert!(!buffer.can_transform("map", "base", at(1000)));
    assert_eq!((x(&buffer, "map", "base", 1500), buffer.transform_count()), (1500.0, 3));
}

#[test]
fn late_transform_is_put_in_order_unless_too_old() {
    let mut buffer = BufferCore::new(Duration::from_secs(1));
    for time in [3000, 2000, 2500] {
        set(&mut buffer, "map", "base", time, along_x(time as f64));
    }
    assert_eq!((x(&buffer, "map", "base", 2250), x(&buffer, "map", "base", 2750)), (2250.0, 2750.0));
    let old = stamped("map", "base", 1999, along_x(0.0));
    assert_eq!(buffer.set_transform(&old, "", false), Err(InsertError::OldData));
    assert_eq!(buffer.transform_count(), 3);
}

#[test]
fn repeated_time_is_refused() {
    let mut buffer = BufferCore::default();
    set(&mut buffer, "map", "base", 1000, along_x(1.0));
    let again = stamped("map", "base", 1000, along_x(2.0));
    assert_eq!(buffer.set_transform(&again, "", false), Err(InsertError::RepeatedData));
    assert_eq!((x(&buffer, "map", "base", 1000), buffer.transform_count()), (1.0, 1));
}

#[test]
fn hundred_thousand_transforms_are_looked_up() {
    let mut buffer = BufferCore::new(Duration::from_secs(1000));
    for frame in 0..100 {
        let child = format!("link_{frame}");
        for time in 1..=1000 {
            set(&mut buffer, "base", &child, time, along_x(f64::from(frame) + time as f64));
        }
    }
    assert_eq!(buffer.transform_count(), 100_000);
    assert_eq!(x(&buffer, "base", "link_7", 500), 507.0);
    assert_eq!(x(&buffer, "link_7", "link_90", 500), 83.0);
}
