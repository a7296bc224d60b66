//! Messages in ROS 1's encoding: owned types, views and dynamic values accept the same bytes, and write them back. Text that
//! is not UTF-8 is refused by views and replaced by the others. The first byte selects the type.
#![no_main]

use std::sync::Arc;

use libfuzzer_sys::fuzz_target;
use runnel_core::dynamic::DynamicMessage;
use runnel_core::message::Message;
use runnel_core::schema::Schema;
use runnel_core::wire::{self, DecodeErrorKind};
use runnel_msgs::{
    diagnostic_msgs, geometry_msgs, nav_msgs, rosgraph_msgs, sensor_msgs, std_msgs, visualization_msgs,
};

fn read<M: Message>(schema: &Arc<Schema>, bytes: &[u8]) {
    assert_eq!(schema.md5, M::MD5);
    let owned = wire::decode::<M>(bytes);
    let view = wire::decode_view::<M>(bytes);
    let dynamic = DynamicMessage::decode(schema, bytes);
    let not_text = view.as_ref().is_err_and(|error| error.kind() == DecodeErrorKind::NotUtf8);
    assert!(view.is_ok() == owned.is_ok() || not_text, "owned: {:?}", owned.err());
    let Ok(owned) = owned else {
        assert!(dynamic.is_err(), "only the dynamic value can be read");
        return;
    };
    let written = wire::encode(&owned);
    assert!(written.len() == bytes.len() || not_text);
    assert_eq!(wire::encode(&wire::decode::<M>(&written).expect("written bytes can be read")), written);
    assert_eq!(dynamic.expect("the dynamic value can be read too").to_bytes(), written);
}

fuzz_target!(|data: &[u8]| {
    let Some((choice, bytes)) = data.split_first() else { return };
    let schema = runnel_fuzz::schema(*choice);
    match choice % 9 {
        0 => read::<std_msgs::msg::String>(schema, bytes),
        1 => read::<std_msgs::msg::UInt8MultiArray>(schema, bytes),
        2 => read::<geometry_msgs::msg::PoseWithCovarianceStamped>(schema, bytes),
        3 => read::<sensor_msgs::msg::PointCloud2>(schema, bytes),
        4 => read::<sensor_msgs::msg::JointState>(schema, bytes),
        5 => read::<diagnostic_msgs::msg::DiagnosticArray>(schema, bytes),
        6 => read::<visualization_msgs::msg::Marker>(schema, bytes),
        7 => read::<rosgraph_msgs::msg::TopicStatistics>(schema, bytes),
        _ => read::<nav_msgs::msg::Path>(schema, bytes),
    }
});
