//! RTPS messages and announcements of unknown peers: parsing does not panic, and a parsed value is written and parsed back as
//! equal.
#![no_main]

use libfuzzer_sys::fuzz_target;
use runnel_rtps::announce::{Endpoint, ParticipantData, Role};
use runnel_rtps::wire::{self, GuidPrefix, Message, Payload, Submessage, VendorId};

fn announcements(bytes: &[u8]) {
    if let Ok(data) = ParticipantData::parse(bytes) {
        let mut out = Vec::new();
        data.emit(&mut out);
        assert_eq!(ParticipantData::parse(&out), Ok(data));
    }
    for role in [Role::Writer, Role::Reader] {
        if let Ok(endpoint) = Endpoint::parse(role, bytes) {
            let mut out = Vec::new();
            endpoint.emit(&mut out);
            let again = Endpoint::parse(role, &out).expect("written bytes can be parsed");
            assert_eq!(
                (again.guid, again.topic, again.type_name),
                (endpoint.guid, endpoint.topic, endpoint.type_name)
            );
        }
    }
}

/// The submessage after a round trip through a message of its own, if Runnel sends this kind.
fn again(submessage: &Submessage<'_>) -> Option<String> {
    let mut out = Vec::new();
    wire::begin(&mut out, VendorId::RUNNEL, GuidPrefix::UNKNOWN);
    match submessage {
        Submessage::AckNack(it) => it.emit(&mut out),
        Submessage::Gap(it) => it.emit(&mut out),
        Submessage::Heartbeat(it) => it.emit(&mut out),
        Submessage::HeartbeatFrag(it) => it.emit(&mut out),
        Submessage::InfoDestination(it) => it.emit(&mut out),
        Submessage::InfoSource(it) => it.emit(&mut out),
        Submessage::InfoTimestamp(it) => it.emit(&mut out),
        Submessage::NackFrag(it) => it.emit(&mut out),
        _ => return None,
    }
    let message = Message::parse(&out).expect("a message of Runnel");
    Some(format!("{:?}", message.submessages().next().expect("one submessage").expect("a valid one")))
}

fuzz_target!(|data: &[u8]| {
    announcements(data);
    let Ok(message) = Message::parse(data) else { return };
    for submessage in message.submessages().flatten() {
        if let Some(again) = again(&submessage) {
            assert_eq!(again, format!("{submessage:?}"));
        }
        match submessage {
            Submessage::Data(data) => {
                if let Payload::Value(bytes) = data.payload {
                    announcements(bytes);
                }
                let _ = data.inline_qos.iter().count();
            }
            Submessage::DataFrag(frag) => {
                assert!(frag.offset() + frag.bytes.len() <= frag.sample_len as usize);
                assert!(frag.count() >= frag.first_fragment);
            }
            Submessage::InfoReply(info) => drop(info.unicast.to_vec()),
            _ => {}
        }
    }
});
