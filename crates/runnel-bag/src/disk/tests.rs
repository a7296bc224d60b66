use std::io::Cursor;

use super::{BlockWriter, Disk, MemoryDisk, Plain};

/// Bytes that differ from their neighbours.
fn pattern(len: usize) -> Vec<u8> {
    (0..len).map(|index| (index % 251) as u8).collect()
}

/// Appends the pattern in pieces of changing length, and flushes after each third one.
fn write_pattern<D: Disk>(disk: D, len: usize) -> D {
    let (bytes, mut writer) = (pattern(len), BlockWriter::new(disk));
    let mut rest = &bytes[..];
    for piece in (1..).map(|index| index * 7 % 50) {
        if rest.is_empty() {
            break;
        }
        let (first, later) = rest.split_at(piece.min(rest.len()));
        writer.append(first).unwrap();
        if piece % 3 == 0 {
            writer.flush().unwrap();
        }
        rest = later;
    }
    assert_eq!(writer.position(), len as u64);
    writer.finish().unwrap()
}

#[test]
fn bytes_arrive_for_every_length_and_block() {
    for block in [1, 8, 64] {
        for len in (0..600).step_by(17) {
            assert_eq!(
                write_pattern(MemoryDisk::new(block, 128), len).bytes(),
                pattern(len),
                "{block} {len}"
            );
        }
    }
    let plain = write_pattern(Plain::new(Cursor::new(Vec::new())), 3000);
    assert_eq!(plain.into_inner().into_inner(), pattern(3000));
}

#[test]
fn flushed_bytes_are_on_the_disk_with_zeros_behind() {
    let mut writer = BlockWriter::new(MemoryDisk::new(16, 64));
    writer.append(&pattern(20)).unwrap();
    writer.flush().unwrap();
    let expected = [pattern(20), vec![0; 12]].concat();
    assert_eq!(writer.disk().bytes(), expected);
    assert_eq!(writer.patchable_from(), 16);
}

#[test]
fn bytes_in_the_buffer_can_be_replaced() {
    let mut writer = BlockWriter::new(MemoryDisk::new(16, 64));
    writer.append(&[1; 70]).unwrap();
    assert_eq!(writer.patchable_from(), 64);
    writer.patch(66, &[2; 4]);
    writer.flush().unwrap();
    writer.patch(64, &[3]);
    assert_eq!(writer.finish().unwrap().bytes(), [vec![1; 64], vec![3, 1, 2, 2, 2, 2]].concat());
}

/// The first 20 bytes lie in two blocks, of which the second is written twice.
#[test]
fn start_can_be_replaced_at_the_end() {
    let mut writer = BlockWriter::new(MemoryDisk::new(16, 16)).with_rewritable_start(20);
    writer.append(&[1; 25]).unwrap();
    writer.flush().unwrap();
    writer.append(&[4; 15]).unwrap();
    writer.rewrite_start(&[2; 20]).unwrap();
    writer.append(&[3; 2]).unwrap();
    let expected = [vec![2; 20], vec![1; 5], vec![4; 15], vec![3; 2]].concat();
    assert_eq!(writer.finish().unwrap().bytes(), expected);
}

/// The file is as without, and no block is written twice.
#[test]
fn made_room_leaves_no_block_to_two_writes() {
    let mut writer = BlockWriter::new(MemoryDisk::new(16, 64));
    writer.append(&[1; 40]).unwrap();
    writer.flush_whole_blocks().unwrap();
    assert_eq!((writer.disk().bytes().len(), writer.patchable_from(), writer.position()), (32, 32, 40));
    assert_eq!(writer.available().unwrap(), 56);
    // Less than a block: nothing to write.
    writer.flush_whole_blocks().unwrap();
    writer.append(&[2; 8]).unwrap();
    writer.flush_whole_blocks().unwrap();
    assert_eq!(writer.disk().bytes(), [vec![1; 40], vec![2; 8]].concat());
    writer.append(&[3]).unwrap();
    writer.flush().unwrap();
    assert_eq!(writer.disk().bytes()[48..], [&[3][..], &[0; 15]].concat());
    writer.append(&[4; 20]).unwrap();
    writer.flush_whole_blocks().unwrap();
    let end = [&[3][..], &[4; 20]].concat();
    assert_eq!(writer.finish().unwrap().bytes()[48..], end);
}
