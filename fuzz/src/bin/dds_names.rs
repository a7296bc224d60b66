//! DDS names: topics, types, partitions and user data of a peer's endpoint, and the ROS names in them. The first byte selects
//! the parser.
#![no_main]

use libfuzzer_sys::fuzz_target;
use runnel_core::names::{DdsTopic, dds_type, ros_type};
use runnel_rtps::announce::{Endpoint, Role};
use runnel_rtps::wire::{EntityId, GuidPrefix, ParametersOut, pid};

fn topic(name: &str) {
    let Some(parsed) = DdsTopic::parse(name) else { return };
    let written = match parsed {
        DdsTopic::Topic(name) => format!("rt{name}"),
        DdsTopic::ServiceRequest(name) => format!("rq{name}Request"),
        DdsTopic::ServiceReply(name) => format!("rr{name}Reply"),
    };
    assert_eq!(written, name);
}

fn type_name(name: &str) {
    let Some(ros) = ros_type(name) else { return };
    let again = dds_type(&ros);
    // A service's name corresponds to two DDS types.
    if !ros.contains("/srv/") && !ros.contains("/action/") && ros.matches('/').count() == 2 {
        assert_eq!(again, name);
    }
}

/// A peer's announcement of an endpoint with these texts.
fn endpoint(topic: &str, type_name: &str, partition: &str, user_data: &[u8]) {
    let guid = GuidPrefix([7; 12]).with(EntityId::user_writer(1));
    let mut bytes = vec![0, 3, 0, 0];
    let mut list = ParametersOut::new(&mut bytes);
    list.bytes(pid::ENDPOINT_GUID, &guid.to_bytes());
    list.text(pid::TOPIC_NAME, topic);
    list.text(pid::TYPE_NAME, type_name);
    list.put(pid::PARTITION, |out| {
        out.extend(1_u32.to_le_bytes());
        out.extend((partition.len() as u32 + 1).to_le_bytes());
        out.extend(partition.bytes().chain([0]));
    });
    list.octets(pid::USER_DATA, user_data);
    list.end();
    let Ok(parsed) = Endpoint::parse(Role::Writer, &bytes) else { return };
    assert_eq!((parsed.guid, parsed.user_data.as_slice()), (guid, user_data));
    assert!(
        !parsed.in_default_partition || partition.is_empty() || partition.contains(['*', '?', '[', '\0'])
    );
    let mut written = Vec::new();
    parsed.emit(&mut written);
    let again = Endpoint::parse(Role::Writer, &written).expect("written bytes can be read");
    assert_eq!((&again.topic, &again.type_name), (&parsed.topic, &parsed.type_name));
    assert_eq!((again.user_data, again.qos), (parsed.user_data, parsed.qos));
}

fuzz_target!(|data: &[u8]| {
    let Some((choice, text)) = data.split_first() else { return };
    if choice % 4 == 3 {
        drop(Endpoint::parse(Role::Reader, text));
        return;
    }
    let text = String::from_utf8_lossy(text);
    let mut lines = text.split('\n');
    let mut next = || lines.next().unwrap_or_default();
    let names = [next(), next(), next(), next()];
    names.into_iter().for_each(topic);
    names.into_iter().for_each(type_name);
    drop(dds_type(names[0]));
    endpoint(names[0], names[1], names[2], names[3].as_bytes());
});
