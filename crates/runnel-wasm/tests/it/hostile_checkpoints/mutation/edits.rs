//! Changes of a checkpoint.

use super::file::{CheckpointFile, PAGE};

/// Bytes of a change: what is done, where in two bytes, a value in four, and which value.
const EDIT: usize = 8;

/// Values at which arithmetic overflows.
const EXTREMES: [u64; 8] = [0, 1, 0x7fff_ffff, 0x8000_0000, 0xffff_ffff, 1 << 40, 1 << 63, u64::MAX];

/// Bytes at the beginning of the memory of a suspended node's functions that are changed often.
const NEAR: usize = 256;

/// Makes the changes that these bytes describe, one after another. Those that do not apply are left out.
pub fn edit(file: &mut CheckpointFile, edits: &[u8]) {
    for edit in edits.chunks_exact(EDIT) {
        let [what, low, high, value @ .., choice] = edit else { continue };
        let place = usize::from(u16::from_le_bytes([*low, *high]));
        let value: [u8; 4] = value.try_into().expect("four bytes");
        let number = EXTREMES.get(usize::from(*choice)).copied().unwrap_or(u32::from_le_bytes(value).into());
        match what % 16 {
            0 => replace(&mut file.state, place, 1, &value[..1]),
            1..=4 => replace_number(&mut file.state, place, number),
            5 => replace(&mut file.state, place, 0, &value),
            6 => replace(&mut file.state, place, usize::from(*choice % 16), &[]),
            7 => repeat(&mut file.state, place, usize::from(*choice)),
            8 => edit_pages(file, *choice, number as u32),
            9..=11 => edit_page(file, usize::from(*choice), place, value),
            // The page in which the functions of the node left their variables is the last one.
            _ => edit_page(
                file,
                file.content.len().saturating_sub(1),
                place % NEAR,
                (number as u32).to_le_bytes(),
            ),
        }
    }
}

fn replace(bytes: &mut Vec<u8>, place: usize, length: usize, by: &[u8]) {
    let start = place % (bytes.len() + 1);
    let end = (start + length).min(bytes.len());
    bytes.splice(start..end, by.iter().copied());
}

/// Replaces a number that is written seven bits a byte, the last byte without its highest bit.
fn replace_number(bytes: &mut Vec<u8>, place: usize, mut number: u64) {
    let start = place % (bytes.len() + 1);
    let length = bytes[start..].iter().position(|byte| byte & 0x80 == 0).map_or(0, |last| last + 1);
    let mut by = Vec::new();
    while number >= 0x80 {
        by.push(number as u8 | 0x80);
        number >>= 7;
    }
    by.push(number as u8);
    replace(bytes, start, length, &by);
}

fn repeat(bytes: &mut Vec<u8>, place: usize, length: usize) {
    let start = place % (bytes.len() + 1);
    let part = bytes[start..(start + length).min(bytes.len())].to_vec();
    replace(bytes, start, 0, &part);
}

fn edit_pages(file: &mut CheckpointFile, choice: u8, number: u32) {
    match choice % 4 {
        0 => file.pages = number,
        1 => _ = file.content.pop(),
        2 => file.content.extend(file.content.first().cloned()),
        _ => {
            if let Some((of, _)) = file.content.last_mut() {
                *of = number;
            }
        }
    }
}

fn edit_page(file: &mut CheckpointFile, page: usize, place: usize, value: [u8; 4]) {
    let pages = file.content.len().max(1);
    if let Some((_, content)) = file.content.get_mut(page % pages) {
        let place = place.min(PAGE - value.len());
        content[place..place + value.len()].copy_from_slice(&value);
    }
}
