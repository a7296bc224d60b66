//! Texts with odd bytes, and times that only one generation can represent.

use runnel_bridge::{Notes, Plan, Rules};
use runnel_core::schema::{Generation, Kind, Library, TypeName};
use runnel_core::wire::{Bytes, Encoding};

fn plans(text: &str) -> [Plan; 2] {
    let name = TypeName::new("a", "B");
    let mut library = Library::new();
    library.add_text(Kind::Message, name.clone(), text.to_owned(), "B.msg");
    let [ros1, ros2] = Generation::ALL.map(|of| library.message_in(of, &name).unwrap());
    [(&ros1, &ros2), (&ros2, &ros1)].map(|(from, to)| Plan::compile(from, to, &Rules::none()).unwrap())
}

fn convert(plan: &Plan, bytes: &[u8], encoding: Encoding) -> (Vec<u8>, Notes) {
    let mut out = Vec::new();
    let notes = plan.convert(Bytes::from(bytes), encoding, &mut out).unwrap();
    (out, notes)
}

#[test]
fn odd_bytes_of_text_are_kept_and_noted() {
    let [to_ros2, to_ros1] = plans("string text");
    for (text, nul, invalid) in [
        (&b"h\xe9llo"[..], false, true),
        (b"a\0b", true, false),
        (b"\0\xff", true, true),
        (b"", false, false),
    ] {
        let ros1 = [&(text.len() as u32).to_le_bytes(), text].concat();
        let ros2 = [&[0, 1, 0, 0], &(text.len() as u32 + 1).to_le_bytes()[..], text, &[0]].concat();
        let of = |is: bool| is.then(|| "text".to_owned());
        let expected = Notes { clamped_time: None, nul_in_text: of(nul), invalid_utf8: of(invalid) };
        assert_eq!(convert(&to_ros2, &ros1, Encoding::Ros1), (ros2.clone(), expected.clone()));
        assert_eq!(convert(&to_ros1, &ros2, Encoding::Xcdr1), (ros1, expected));
    }
}

#[test]
fn text_without_final_zero_is_read_from_ros2() {
    let [_, to_ros1] = plans("string text");
    let bytes = [0, 1, 0, 0, 2, 0, 0, 0, b'h', b'i'];
    assert_eq!(convert(&to_ros1, &bytes, Encoding::Xcdr1).0, [2, 0, 0, 0, b'h', b'i']);
}

fn time(seconds: u32, nanoseconds: u32) -> Vec<u8> {
    [seconds.to_le_bytes(), nanoseconds.to_le_bytes()].concat()
}

fn to_ros2(plan: &Plan, seconds: u32, nanoseconds: u32) -> (Vec<u8>, bool) {
    let (out, notes) = convert(plan, &time(seconds, nanoseconds), Encoding::Ros1);
    (out[4..].to_vec(), notes.clamped_time.is_some())
}

fn to_ros1(plan: &Plan, seconds: u32, nanoseconds: u32) -> (Vec<u8>, bool) {
    let payload = [vec![0, 1, 0, 0], time(seconds, nanoseconds)].concat();
    let (out, notes) = convert(plan, &payload, Encoding::Xcdr1);
    (out, notes.clamped_time.is_some())
}

#[test]
fn time_out_of_range_becomes_nearest_time() {
    let [ros2, ros1] = plans("time at");
    assert_eq!(to_ros2(&ros2, 0x7fff_ffff, 5), (time(0x7fff_ffff, 5), false));
    assert_eq!(to_ros2(&ros2, 0x8000_0000, 5), (time(0x7fff_ffff, 999_999_999), true));
    assert_eq!(to_ros2(&ros2, u32::MAX, 999_999_999), (time(0x7fff_ffff, 999_999_999), true));
    assert_eq!(to_ros1(&ros1, 7, 5), (time(7, 5), false));
    assert_eq!(to_ros1(&ros1, -1_i32 as u32, 5), (time(0, 0), true));
}

#[test]
fn negative_nanoseconds_of_duration_are_normalized() {
    let [ros2, ros1] = plans("duration of");
    assert_eq!(to_ros2(&ros2, -2_i32 as u32, 5), (time(-2_i32 as u32, 5), false));
    assert_eq!(to_ros2(&ros2, 1, -1_i32 as u32), (time(0, 999_999_999), false));
    assert_eq!(to_ros2(&ros2, 0, -500_000_000_i32 as u32), (time(-1_i32 as u32, 500_000_000), false));
    assert_eq!(to_ros2(&ros2, i32::MIN as u32, -1_i32 as u32), (time(i32::MIN as u32, 0), true));
    assert_eq!(to_ros1(&ros1, -2_i32 as u32, 5), (time(-2_i32 as u32, 5), false));
}
