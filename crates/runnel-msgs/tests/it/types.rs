//! The generated types against bytes and against the definitions they come from.

use runnel_core::schema::{Kind, TypeName};
use runnel_core::time::{Duration, Time};
use runnel_core::wire::{Wire, decode, decode_into, decode_view, encode};
use runnel_core::{Message, Service};
use runnel_msgs::diagnostic_msgs::msg::{DiagnosticArray, DiagnosticStatus, KeyValue};
use runnel_msgs::geometry_msgs::msg::{Point, PoseWithCovariance, Twist, Vector3};
use runnel_msgs::sensor_msgs::msg::{CameraInfo, PointCloud2, PointField};
use runnel_msgs::std_msgs::msg::Header;
use runnel_msgs::visualization_msgs::msg::{Marker, MarkerArray};
use runnel_msgs::{actionlib_msgs, nav_msgs, rosgraph_msgs, std_msgs, std_srvs, tf2_msgs};
use std::fmt::Debug;

fn header() -> Header {
    Header { seq: 7, stamp: Time { sec: 1, nanosec: 2 }, frame_id: "map".into() }
}

fn marker() -> Marker {
    Marker {
        header: header(),
        ns: "n".into(),
        type_: Marker::CUBE.into(),
        lifetime: Duration { sec: -1, nanosec: 5 },
        points: vec![Point { x: 1.0, y: 2.0, z: 3.0 }, Point::default()],
        text: "grün".into(),
        ..Marker::default()
    }
}

fn diagnostics() -> DiagnosticArray {
    let values = vec![KeyValue { key: "k".into(), value: String::new() }, KeyValue::default()];
    let status = DiagnosticStatus { level: DiagnosticStatus::STALE, values, ..DiagnosticStatus::default() };
    DiagnosticArray { header: header(), status: vec![status.clone(), DiagnosticStatus::default(), status] }
}

/// A value survives the way there and back, also into a value in use, and its bytes show the same view.
fn goes_round<T: Message>(value: &T, in_use: &mut T)
where
    for<'a> T::View<'a>: Debug,
{
    let bytes = encode(value);
    assert!(bytes.len() >= T::MIN_LEN);
    assert_eq!(decode::<T>(&bytes).unwrap(), *value);
    decode_into(in_use, &bytes).unwrap();
    assert_eq!(in_use, value);
    let (of_bytes, of_value) = (decode_view::<T>(&bytes).unwrap(), value.view());
    assert_eq!(format!("{of_bytes:?}"), format!("{of_value:?}"));
    for end in 0..bytes.len() {
        assert!(decode::<T>(&bytes[..end]).is_err());
        assert!(decode_view::<T>(&bytes[..end]).is_err());
    }
}

#[test]
fn messages_within_messages_go_round() {
    let mut array = MarkerArray { markers: vec![marker(), Marker::default()] };
    goes_round(&array.clone(), &mut MarkerArray::default());
    goes_round(&MarkerArray::default(), &mut array);
    goes_round(&diagnostics(), &mut DiagnosticArray::default());
    goes_round(&std_msgs::msg::Empty::default(), &mut std_msgs::msg::Empty {});
}

#[test]
fn arrays_of_fixed_size_go_round() {
    let mut pose = PoseWithCovariance::default();
    pose.covariance[35] = 0.5;
    goes_round(&pose, &mut PoseWithCovariance::default());
    assert_eq!(PoseWithCovariance::MIN_LEN, 7 * 8 + 36 * 8);
    assert_eq!(PoseWithCovariance::FIXED_LEN, Some(7 * 8 + 36 * 8));
    let camera = CameraInfo { k: [1.0; 9], d: vec![0.1, 0.2], ..CameraInfo::default() };
    goes_round(&camera, &mut CameraInfo::default());
    assert_eq!(camera.view().k.get(8), Some(1.0));
}

#[test]
fn bytes_are_those_of_the_ros_1_wire() {
    let bytes = [7, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, b'm', b'a', b'p'];
    assert_eq!(encode(&header()), bytes);
    let twist = Twist { angular: Vector3 { x: 0.0, y: 0.0, z: -2.0 }, ..Twist::default() };
    let mut bytes = vec![0; 40];
    bytes.extend((-2.0f64).to_le_bytes());
    assert_eq!(encode(&twist), bytes);
}

#[test]
fn a_view_borrows_texts_and_arrays() {
    let cloud = PointCloud2 {
        header: header(),
        fields: vec![PointField { name: "x".into(), datatype: PointField::FLOAT32, ..PointField::default() }],
        data: vec![1, 2, 3],
        ..PointCloud2::default()
    };
    let bytes = encode(&cloud);
    let view = decode_view::<PointCloud2>(&bytes).unwrap();
    assert!(view.header.frame_id == "map" && view.data == [1u8, 2, 3]);
    assert!(bytes.as_ptr_range().contains(&view.data.as_ptr()));
    assert_eq!(view.fields.get(0).unwrap().name, "x");
}

#[test]
fn an_error_names_the_field() {
    let mut bytes = encode(&diagnostics());
    let last_count = bytes.len() - 4;
    bytes[last_count] = 9;
    let error = decode::<DiagnosticArray>(&bytes).unwrap_err();
    assert_eq!(error.to_string(), "field status.values.value: 9 elements claimed, but only 0 bytes left");
    let error = decode_view::<Marker>(&[0; 20]).unwrap_err();
    assert_eq!(error.to_string(), "field id: message ends early: 4 bytes needed, 0 left");
    let error = decode::<CameraInfo>(&[0; 32]).unwrap_err();
    assert_eq!(error.to_string(), "field K: message ends early: 72 bytes needed, 0 left");
}

/// Compares a type's constants with its definition.
fn agrees_with_its_definition<T: Message>() {
    let schema = runnel_msgs::library().message(&TypeName::parse(T::TYPE).unwrap()).unwrap();
    assert_eq!((T::MD5, T::DEFINITION), (schema.md5.as_str(), schema.full_text.as_str()));
    let first = schema.def.fields.first();
    assert_eq!(T::HAS_HEADER, first.is_some_and(|field| field.name == "header"), "{}", T::TYPE);
}

#[test]
fn types_agree_with_their_definitions() {
    agrees_with_its_definition::<std_msgs::msg::Empty>();
    agrees_with_its_definition::<std_msgs::msg::String>();
    agrees_with_its_definition::<Twist>();
    agrees_with_its_definition::<MarkerArray>();
    agrees_with_its_definition::<CameraInfo>();
    agrees_with_its_definition::<rosgraph_msgs::msg::Log>();
    agrees_with_its_definition::<tf2_msgs::action::LookupTransformActionResult>();
    agrees_with_its_definition::<actionlib_msgs::msg::GoalStatusArray>();
    agrees_with_its_definition::<<std_srvs::srv::SetBool as Service>::Response>();
    assert_eq!(std_srvs::srv::SetBool::MD5, "09fb03525b03e7ea1fd3992bafd87e16");
    assert_eq!(nav_msgs::srv::GetMap::TYPE, "nav_msgs/GetMap");
}

#[test]
fn every_definition_is_sound() {
    let library = runnel_msgs::library();
    let messages = library.names(Kind::Message).map(|name| library.message(name).map(drop));
    let services = library.names(Kind::Service).map(|name| library.service(name).map(drop));
    let actions = library.names(Kind::Action).map(|name| library.action(name).map(drop));
    let results: Vec<_> = messages.chain(services).chain(actions).collect();
    assert_eq!(results.iter().filter(|result| result.is_err()).count(), 0, "{results:?}");
    assert!(results.len() > runnel_msgs::definitions().len());
}
