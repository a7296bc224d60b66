//! Messages in CDR: owned types, views and dynamic values accept the same payloads, and write the same bytes in every
//! encoding. Text that is not UTF-8 is refused by views and replaced by the others. The first byte selects the type.
#![no_main]

use std::sync::Arc;

use libfuzzer_sys::fuzz_target;
use runnel_core::dynamic::DynamicMessage;
use runnel_core::message::Message;
use runnel_core::schema::{Generation, Schema};
use runnel_core::wire::{DecodeErrorKind, Encoding, cdr};
use runnel_msgs::{
    diagnostic_msgs, geometry_msgs, rcl_interfaces, rmw_dds_common, sensor_msgs, shape_msgs, std_msgs,
    visualization_msgs,
};

const TYPES: [&str; 9] = [
    "std_msgs/String",
    "std_msgs/Empty",
    "geometry_msgs/PoseWithCovarianceStamped",
    "sensor_msgs/PointCloud2",
    "rcl_interfaces/ParameterDescriptor",
    "diagnostic_msgs/DiagnosticArray",
    "visualization_msgs/Marker",
    "rmw_dds_common/ParticipantEntitiesInfo",
    "shape_msgs/SolidPrimitive",
];

fn read<M: Message>(schema: &Arc<Schema>, payload: &[u8]) {
    assert_eq!(schema.def.ros2_name, M::ROS2_TYPE);
    let owned = cdr::decode::<M>(payload);
    let view = cdr::decode_view::<M>(payload);
    let dynamic = DynamicMessage::decode_payload(schema, payload);
    let not_text = view.as_ref().is_err_and(|error| error.kind() == DecodeErrorKind::NotUtf8);
    assert!(view.is_ok() == owned.is_ok() || not_text, "owned: {:?}", owned.err());
    let (Ok(owned), Ok(dynamic)) = (&owned, &dynamic) else {
        // A replacement character is longer than the bytes that it replaces, which may exceed a bound.
        assert_eq!(owned.is_ok(), dynamic.is_ok(), "only one can be read: {owned:?}, {dynamic:?}");
        return;
    };
    for encoding in [Encoding::Xcdr1, Encoding::Xcdr2] {
        let written = cdr::encode(owned, encoding).expect("a read value can be written");
        assert_eq!(written.len(), cdr::encoded_len(owned, encoding));
        assert_eq!(dynamic.to_payload(encoding).as_ref(), Ok(&written));
        let again = cdr::decode::<M>(&written).expect("written bytes can be read");
        assert_eq!(cdr::encode(&again, encoding), Ok(written));
    }
}

fuzz_target!(|data: &[u8]| {
    let Some((choice, payload)) = data.split_first() else { return };
    let schema = runnel_fuzz::schema_of(Generation::Ros2, TYPES[usize::from(*choice) % TYPES.len()]);
    match choice % 9 {
        0 => read::<std_msgs::msg::String>(&schema, payload),
        1 => read::<std_msgs::msg::Empty>(&schema, payload),
        2 => read::<geometry_msgs::msg::PoseWithCovarianceStamped>(&schema, payload),
        3 => read::<sensor_msgs::msg::PointCloud2>(&schema, payload),
        4 => read::<rcl_interfaces::msg::ParameterDescriptor>(&schema, payload),
        5 => read::<diagnostic_msgs::msg::DiagnosticArray>(&schema, payload),
        6 => read::<visualization_msgs::msg::Marker>(&schema, payload),
        7 => read::<rmw_dds_common::msg::ParticipantEntitiesInfo>(&schema, payload),
        _ => read::<shape_msgs::msg::SolidPrimitive>(&schema, payload),
    }
});
