//! A datagram in the making: submessages, and at most one long payload that is sent from where it lies.

use crate::lend::Lend;
use crate::wire::{
    Data, DataFrag, EntityId, GuidPrefix, InfoDestination, InfoTimestamp, PADDING, Payload, SequenceNumber,
    Timestamp, VendorId, begin,
};
use alloc::vec::Vec;
use core::net::SocketAddr;
use core::ops::Range;

/// From how many bytes on a payload is sent from where it lies instead of being copied.
const LONG: usize = 1024;

/// Memory of a datagram's own beyond this is kept by none that has been sent: few are as long.
const KEPT: usize = 4096;

/// A datagram in the making.
#[derive(Debug)]
pub(crate) struct Datagram<B> {
    /// Where it goes.
    pub to: Vec<SocketAddr>,
    head: Vec<u8>,
    body: Option<(B, Range<usize>)>,
    tail: Vec<u8>,
    stamp: Option<Timestamp>,
    /// The length beyond which no sample is appended: its receiver has yet to prove its address.
    limit: usize,
}

impl<B: Lend> Datagram<B> {
    pub fn new() -> Self {
        Self {
            to: Vec::new(),
            head: Vec::new(),
            body: None,
            tail: Vec::new(),
            stamp: None,
            limit: usize::MAX,
        }
    }

    /// Begins anew, to a participant or to whoever hears it.
    pub fn begin(&mut self, from: GuidPrefix, to: GuidPrefix) {
        self.to.clear();
        self.body = None;
        self.tail.clear();
        self.stamp = None;
        self.limit = usize::MAX;
        begin(&mut self.head, VendorId::RUNNEL, from);
        if to != GuidPrefix::UNKNOWN {
            InfoDestination { prefix: to }.emit(&mut self.head);
        }
    }

    /// It has been sent, and is kept to begin anew.
    pub fn release(&mut self) {
        self.body = None;
        self.to.clear();
        for part in [&mut self.head, &mut self.tail] {
            part.clear();
            part.shrink_to(KEPT);
        }
    }

    /// Samples are appended only as long as it has no more than so many bytes.
    pub fn limit_samples(&mut self, limit: usize) {
        self.limit = limit;
    }

    /// True if samples are limited.
    pub fn is_limited(&self) -> bool {
        self.limit != usize::MAX
    }

    /// True if a sample may be appended that takes so many bytes.
    pub fn allows(&self, bytes: usize) -> bool {
        self.len().saturating_add(bytes) <= self.limit
    }

    /// How many bytes it has.
    pub fn len(&self) -> usize {
        self.head.len() + self.body.as_ref().map_or(0, |(_, place)| place.len()) + self.tail.len()
    }

    /// True if a long payload stands in it: no other can.
    pub fn has_body(&self) -> bool {
        self.body.is_some()
    }

    /// The bytes in three parts, which follow each other.
    pub fn parts(&self) -> [&[u8]; 3] {
        let body = self.body.as_ref().and_then(|(payload, place)| payload.bytes().get(place.clone()));
        [&self.head, body.unwrap_or(&[]), &self.tail]
    }

    /// Where the next submessage is appended.
    pub fn out(&mut self) -> &mut Vec<u8> {
        if self.body.is_some() { &mut self.tail } else { &mut self.head }
    }

    /// Says when what follows was written, unless that was said before.
    pub fn stamp(&mut self, stamp: Timestamp) {
        if self.stamp != Some(stamp) {
            self.stamp = Some(stamp);
            InfoTimestamp { timestamp: Some(stamp) }.emit(self.out());
        }
    }

    /// Appends a sample.
    pub fn data(
        &mut self,
        ends: (EntityId, EntityId),
        number: SequenceNumber,
        inline_qos: &[u8],
        payload: &B,
        is_key: bool,
    ) {
        let bytes = payload.bytes();
        let what = if is_key { Payload::Key(bytes) } else { Payload::Value(bytes) };
        if bytes.len() < LONG || self.body.is_some() {
            return Data::emit(self.out(), ends, number, inline_qos, what);
        }
        let padding = Data::emit_head(&mut self.head, ends, number, inline_qos, what);
        self.tail.extend_from_slice(&PADDING[..padding]);
        self.body = Some((payload.clone(), 0..bytes.len()));
    }

    /// Appends a fragment of a sample; nothing if a long payload stands already.
    pub fn fragment(
        &mut self,
        ends: (EntityId, EntityId),
        number: SequenceNumber,
        inline_qos: &[u8],
        payload: &B,
        fragment: (u32, u16),
    ) {
        if self.body.is_some() {
            return;
        }
        let len = payload.bytes().len();
        let (place, padding) = DataFrag::emit_head(&mut self.head, ends, number, inline_qos, len, fragment);
        self.tail.extend_from_slice(&PADDING[..padding]);
        self.body = Some((payload.clone(), place));
    }
}
