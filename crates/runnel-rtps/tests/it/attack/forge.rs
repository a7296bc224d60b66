//! Plausible datagrams of the attacker: captured ones with an altered field, and submessages of live endpoints.

use runnel_rtps::wire::{HEADER_LEN, SUBMESSAGE_HEADER_LEN};

/// Position of a submessage in a datagram.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    pub id: u8,
    pub is_little_endian: bool,
    /// Begin and end of its body.
    pub begin: usize,
    pub end: usize,
}

pub const ACK_NACK: u8 = 0x06;
pub const HEARTBEAT: u8 = 0x07;
pub const GAP: u8 = 0x08;
pub const NACK_FRAG: u8 = 0x12;
pub const HEARTBEAT_FRAG: u8 = 0x13;
pub const DATA: u8 = 0x15;
pub const DATA_FRAG: u8 = 0x16;

/// Returns the submessages of a datagram.
pub fn places(datagram: &[u8]) -> Vec<Place> {
    let (mut at, mut places) = (HEADER_LEN, Vec::new());
    while let Some([id, flags, low, high]) = datagram.get(at..at + SUBMESSAGE_HEADER_LEN) {
        let is_little_endian = flags & 1 != 0;
        let len = if is_little_endian { [*low, *high] } else { [*high, *low] };
        let begin = at + SUBMESSAGE_HEADER_LEN;
        let len = usize::from(u16::from_le_bytes(len));
        let end = if len == 0 { datagram.len() } else { (begin + len).min(datagram.len()) };
        places.push(Place { id: *id, is_little_endian, begin, end });
        at = end;
    }
    places
}

/// Field of a submessage: offset in the body and length, in bytes.
pub type Field = (usize, usize);

impl Place {
    /// Returns the count of a control submessage.
    pub fn count(&self) -> Option<Field> {
        let len = self.end - self.begin;
        match self.id {
            HEARTBEAT => Some((24, 4)),
            HEARTBEAT_FRAG => Some((20, 4)),
            ACK_NACK | NACK_FRAG => Some((len.checked_sub(4)?, 4)),
            _ => None,
        }
    }

    /// Returns sequence numbers, fragment numbers and lengths of sets.
    pub fn numbers(&self) -> &'static [Field] {
        match self.id {
            HEARTBEAT => &[(8, 8), (16, 8)],
            GAP => &[(8, 8), (16, 8), (24, 4)],
            ACK_NACK => &[(8, 8), (16, 4)],
            NACK_FRAG => &[(8, 8), (16, 4), (20, 4)],
            HEARTBEAT_FRAG => &[(8, 8), (16, 4)],
            DATA => &[(12, 8)],
            DATA_FRAG => &[(12, 8), (20, 4), (24, 2), (26, 2), (28, 4)],
            _ => &[],
        }
    }

    /// Returns the reader and the writer.
    pub fn entities(&self) -> &'static [Field] {
        match self.id {
            DATA | DATA_FRAG => &[(4, 4), (8, 4)],
            HEARTBEAT | GAP | ACK_NACK | NACK_FRAG | HEARTBEAT_FRAG => &[(0, 4), (4, 4)],
            _ => &[],
        }
    }

    /// Returns the writer of DATA and DATA_FRAG.
    pub fn writer_of_data<'a>(&self, datagram: &'a [u8]) -> Option<&'a [u8]> {
        let is_data = matches!(self.id, DATA | DATA_FRAG);
        datagram.get(self.begin + 8..self.begin + 12).filter(|_| is_data)
    }

    /// Returns a field's value.
    pub fn read(&self, datagram: &[u8], (offset, len): Field) -> u64 {
        let begin = self.begin + offset;
        let Some(bytes) = datagram.get(begin..begin + len).filter(|_| begin + len <= self.end) else {
            return 0;
        };
        // The high half of a sequence number comes first, in either byte order.
        let word = |bytes: &[u8]| {
            let shift = |index: usize| if self.is_little_endian { index } else { bytes.len() - 1 - index };
            bytes
                .iter()
                .enumerate()
                .fold(0, |sum, (index, byte)| sum | u64::from(*byte) << (8 * shift(index)))
        };
        if len == 8 { word(&bytes[..4]) << 32 | word(&bytes[4..]) } else { word(bytes) }
    }

    /// Sets a field's value.
    pub fn write(&self, datagram: &mut [u8], (offset, len): Field, value: u64) {
        let begin = self.begin + offset;
        if begin + len > self.end {
            return;
        }
        let bytes = &mut datagram[begin..begin + len];
        let store = |bytes: &mut [u8], value: u64| {
            let count = bytes.len();
            for (index, byte) in bytes.iter_mut().enumerate() {
                let shift = if self.is_little_endian { index } else { count - 1 - index };
                *byte = (value >> (8 * shift)) as u8;
            }
        };
        if len == 8 {
            store(&mut bytes[..4], value >> 32);
            store(&mut bytes[4..], value);
        } else {
            store(bytes, value);
        }
    }
}

/// Returns another value for a number: a neighbour, one far ahead or the greatest.
pub fn altered(value: u64, len: usize, choice: u8) -> u64 {
    let greatest = u64::MAX >> (64 - 8 * len);
    let signed = greatest >> 1;
    let value = match choice % 16 {
        0 => value.wrapping_add(1),
        1 => value.wrapping_sub(1),
        2 => value.wrapping_add(2 + u64::from(choice >> 4)),
        3 => value.wrapping_sub(2 + u64::from(choice >> 4)),
        4 => value.wrapping_add(100),
        5 => value.wrapping_add(1 << 20),
        6 => value.wrapping_add(1 << 31),
        7 => signed,
        8 => greatest,
        9 => signed - 1,
        10 => 0,
        11 => 1,
        12 => signed + 1,
        13 => (1 << 31) - 1,
        14 => value.wrapping_add(1 << 32),
        _ => value ^ (1 << (choice >> 4)),
    };
    value & greatest
}
