//! Connection headers: a parsed header can be written, and is parsed back as equal.
#![no_main]

use libfuzzer_sys::fuzz_target;
use runnel_ros1::header::ConnectionHeader;

fuzz_target!(|data: &[u8]| {
    let Ok(header) = ConnectionHeader::parse(data) else { return };
    let written = header.emit();
    let (length, fields) = written.split_at(4);
    assert_eq!(length, (fields.len() as u32).to_le_bytes());
    assert_eq!(ConnectionHeader::parse(fields), Ok(header));
});
