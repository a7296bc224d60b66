//! `metadata.yaml` of rosbag2: what is read is written so that it is read again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use runnel_bag::rosbag2::BagMetadata;

fuzz_target!(|data: &[u8]| {
    let Ok(metadata) = BagMetadata::parse(&String::from_utf8_lossy(data)) else { return };
    // Once written, it has the spelling of the latest version.
    let text = metadata.to_string();
    let read = BagMetadata::parse(&text).expect("what was written");
    assert_eq!(read.to_string(), text);
});
