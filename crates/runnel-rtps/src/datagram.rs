//! Datagram under construction: submessages, and at most one long payload that is sent without a copy.

use crate::lend::Lend;
use crate::wire::{
    Data, DataFrag, EntityId, GuidPrefix, InfoDestination, InfoTimestamp, PADDING, Payload, SequenceNumber,
    Timestamp, VendorId, begin,
};
use alloc::vec::Vec;
use core::net::SocketAddr;
use core::ops::Range;

/// Minimum length of a payload that is sent from its own memory instead of being copied.
const LONG: usize = 1024;

/// Capacity that a released datagram keeps: few datagrams are longer.
const KEPT: usize = 4096;

/// Datagram under construction.
#[derive(Debug)]
pub(crate) struct Datagram<B> {
    /// Destinations.
    pub to: Vec<SocketAddr>,
    head: Vec<u8>,
    body: Option<(B, Range<usize>)>,
    tail: Vec<u8>,
    stamp: Option<Timestamp>,
    /// Length beyond which no sample is appended, while the receiver has not proved its address.
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

    /// Begins a new datagram, to a participant or to all.
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

    /// Releases the payload and excess memory after the datagram was sent.
    pub fn release(&mut self) {
        self.body = None;
        self.to.clear();
        for part in [&mut self.head, &mut self.tail] {
            part.clear();
            part.shrink_to(KEPT);
        }
    }

    /// Limits the length up to which samples are appended.
    pub fn limit_samples(&mut self, limit: usize) {
        self.limit = limit;
    }

    /// Returns whether samples are limited.
    pub fn is_limited(&self) -> bool {
        self.limit != usize::MAX
    }

    /// Returns whether a sample of this length may be appended.
    pub fn has_space(&self, bytes: usize) -> bool {
        self.len().saturating_add(bytes) <= self.limit
    }

    /// Returns the length in bytes.
    pub fn len(&self) -> usize {
        self.head.len() + self.body.as_ref().map_or(0, |(_, place)| place.len()) + self.tail.len()
    }

    /// Returns whether the datagram holds a long payload: it can hold only one.
    pub fn has_body(&self) -> bool {
        self.body.is_some()
    }

    /// Returns the bytes in three consecutive parts.
    pub fn parts(&self) -> [&[u8]; 3] {
        let body = self.body.as_ref().and_then(|(payload, place)| payload.bytes().get(place.clone()));
        [&self.head, body.unwrap_or(&[]), &self.tail]
    }

    /// Returns the buffer for the next submessage.
    pub fn out(&mut self) -> &mut Vec<u8> {
        if self.body.is_some() { &mut self.tail } else { &mut self.head }
    }

    /// Appends the source timestamp of the next samples, unless it is already set.
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

    /// Appends a fragment of a sample, unless the datagram holds a long payload.
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
