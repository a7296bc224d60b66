//! The generated types on random contents: the last array filled in place, and how long wire forms are.

use runnel_core::Message;
use runnel_core::message::{Tail, TailError, len_with_tail, write_with_tail};
use runnel_core::schema::{Arity, Element, Field, Generation, Kind, Primitive, Schema, TypeName};
use runnel_core::wire::{Encoding, Sink, SliceSink, cdr, decode, encode};
use runnel_msgs::{
    composition_interfaces, diagnostic_msgs, example_interfaces, geometry_msgs, map_msgs, nav_msgs,
    rcl_interfaces, sensor_msgs, shape_msgs, std_msgs, stereo_msgs, tf2_msgs, trajectory_msgs,
    visualization_msgs,
};
use runnel_testkit::net::Rng;
use std::sync::Arc;

/// Fill byte of memory before a message is written.
const NOISE: u8 = 0xa5;

/// The wire form of a message with random contents.
fn random_message(random: &mut Rng, schema: &Schema) -> Vec<u8> {
    let mut out = Vec::new();
    for (field, part) in schema.def.fields.iter().zip(&schema.parts) {
        let count = match field.arity {
            Arity::One => 1,
            Arity::Fixed(count) => count,
            Arity::Bounded(_) | Arity::Unbounded => {
                let count = random.below(6);
                out.extend((count as u32).to_le_bytes());
                count
            }
        };
        (0..count).for_each(|_| out.extend(random_element(random, field, part.as_deref())));
    }
    out
}

fn random_element(random: &mut Rng, field: &Field, part: Option<&Schema>) -> Vec<u8> {
    let bytes = random.bits().to_le_bytes();
    match (&field.element, part) {
        (Element::Primitive(Primitive::Bool), _) => vec![bytes[0] & 1],
        (Element::Primitive(primitive), _) if primitive.is_text() => {
            let len = random.below(12);
            [&(len as u32).to_le_bytes()[..], &b"runnel at last"[..len]].concat()
        }
        // Never a NaN, which would not equal itself.
        (Element::Primitive(Primitive::F32), _) => vec![bytes[0], bytes[1], bytes[2], bytes[3] & 0xbf],
        (Element::Primitive(Primitive::F64), _) => [&bytes[..7], &[bytes[7] & 0xbf]].concat(),
        (Element::Primitive(primitive), _) => bytes[..width(*primitive).unwrap()].to_vec(),
        (Element::Message(_), part) => random_message(random, part.unwrap()),
    }
}

fn width(primitive: Primitive) -> Option<usize> {
    match primitive {
        Primitive::Bool | Primitive::I8 | Primitive::U8 => Some(1),
        Primitive::I16 | Primitive::U16 => Some(2),
        Primitive::I32 | Primitive::U32 | Primitive::F32 => Some(4),
        Primitive::String(_) | Primitive::WString(_) => None,
        _ => Some(8),
    }
}

/// Parts of a wire form, in order.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Leaf {
    Fixed(usize),
    Numbers(usize),
    OtherVariable,
}

fn leaves(schema: &Schema) -> Vec<Leaf> {
    let fields = schema.def.fields.iter().zip(&schema.parts);
    fields.flat_map(|(field, part)| field_leaves(field, part.as_deref())).collect()
}

fn field_leaves(field: &Field, part: Option<&Schema>) -> Vec<Leaf> {
    let no_number = matches!(
        field.element,
        Element::Primitive(Primitive::Bool | Primitive::Time | Primitive::Duration | Primitive::String(_))
    );
    let one = match (&field.element, part) {
        (Element::Primitive(primitive), _) => {
            vec![width(*primitive).map_or(Leaf::OtherVariable, Leaf::Fixed)]
        }
        (Element::Message(_), part) => leaves(part.unwrap()),
    };
    let all_fixed = one.iter().all(|leaf| matches!(leaf, Leaf::Fixed(_)));
    match (field.arity, one.as_slice()) {
        (Arity::One, _) => one,
        (Arity::Fixed(count), one) if all_fixed => one.repeat(count),
        (Arity::Unbounded, [Leaf::Fixed(width)]) if part.is_none() && !no_number => {
            vec![Leaf::Numbers(*width)]
        }
        _ => vec![Leaf::OtherVariable],
    }
}

/// The last array of numbers as the definition has it.
fn tail_of(schema: &Schema) -> Option<Tail> {
    let leaves = leaves(schema);
    let last = leaves.iter().rposition(|leaf| !matches!(leaf, Leaf::Fixed(_)))?;
    let after = leaves[last + 1..].iter().map(|leaf| if let Leaf::Fixed(len) = leaf { *len } else { 0 });
    match leaves[last] {
        Leaf::Numbers(element) => Some(Tail { element, after: after.sum() }),
        _ => None,
    }
}

fn schema<M: Message>(generation: Generation) -> Arc<Schema> {
    runnel_msgs::library().message_in(generation, &TypeName::parse(M::TYPE).unwrap()).unwrap()
}

/// Any message that is written with its last array filled in place is the message with that array.
fn fills_in_place<M: Message>() -> &'static str {
    let (schema, mut random) = (schema::<M>(Generation::Ros1), Rng::new(M::TYPE.len() as u64));
    let tail = M::TAIL.unwrap();
    assert_eq!(Some(tail), tail_of(&schema), "{}", M::TYPE);
    assert_eq!(M::ROS2_TAIL, tail_of(&self::schema::<M>(Generation::Ros2)), "{}", M::TYPE);
    for _ in 0..60 {
        let bytes = random_message(&mut random, &schema);
        let message: M = decode(&bytes).unwrap();
        assert_eq!(encode(&message), bytes);
        let count = message.tail_len(Encoding::Ros1);
        let emptied: M = decode(&without_tail(&bytes, tail, count)).unwrap();

        let mut memory = vec![NOISE; bytes.len() + 3];
        let with = write_with_tail(&emptied, Encoding::Ros1, count, &mut memory).unwrap();
        assert_eq!((with.len, with.elements.len()), (bytes.len(), count * tail.element), "{}", M::TYPE);
        assert_eq!(len_with_tail(&emptied, Encoding::Ros1, count), Ok(with.len));
        let mut untouched = memory[with.elements.clone()].iter().chain(&memory[with.len..]);
        assert!(untouched.all(|byte| *byte == NOISE), "{}", M::TYPE);

        memory[with.elements.clone()].copy_from_slice(&bytes[with.elements.clone()]);
        assert_eq!(memory[..with.len], bytes, "{}", M::TYPE);
        assert_eq!(decode::<M>(&memory[..with.len]).as_ref(), Ok(&message));
        fills_in_place_in_ros2(&message, &emptied, &memory[with.elements]);
    }
    M::TYPE
}

/// The same in both encodings of ROS 2, given the elements.
fn fills_in_place_in_ros2<M: Message>(message: &M, emptied: &M, elements: &[u8]) {
    let Some(tail) = M::ROS2_TAIL else { return };
    let count = elements.len() / tail.element;
    for encoding in [Encoding::Xcdr1, Encoding::Xcdr2] {
        assert_eq!((message.tail_len(encoding), emptied.tail_len(encoding)), (count, 0));
        let bytes = cdr::encode(message, encoding).unwrap();
        let mut memory = vec![NOISE; bytes.len() + 3];
        let with = write_with_tail(emptied, encoding, count, &mut memory).unwrap();
        assert_eq!(
            (with.len, with.elements.len()),
            (bytes.len(), elements.len()),
            "{} {encoding:?}",
            M::TYPE
        );
        assert_eq!(len_with_tail(emptied, encoding, count), Ok(with.len));
        let mut untouched = memory[with.elements.clone()].iter().chain(&memory[with.len..]);
        assert!(untouched.all(|byte| *byte == NOISE), "{}", M::TYPE);
        memory[with.elements].copy_from_slice(elements);
        assert_eq!(memory[..with.len], bytes, "{} {encoding:?}", M::TYPE);
    }
}

/// The bytes of the same message with an empty last array.
fn without_tail(bytes: &[u8], tail: Tail, count: usize) -> Vec<u8> {
    let end = bytes.len() - tail.after;
    let start = end - count * tail.element;
    assert_eq!(bytes[start - 4..start], (count as u32).to_le_bytes());
    [&bytes[..start - 4], &[0; 4], &bytes[end..]].concat()
}

/// The names of messages, each checked.
macro_rules! each {
    ($check:ident: $($module:ident :: $kind:ident { $($name:ident),* })*) => {
        vec![$($($check::<$module::$kind::$name>(),)*)*]
    };
}

#[test]
fn the_last_array_of_every_message_that_ends_in_one_is_filled_in_place() {
    let mut checked = each!(fills_in_place:
        composition_interfaces::srv { ListNodesResponse }
        example_interfaces::action {
            FibonacciAction, FibonacciActionFeedback, FibonacciActionResult, FibonacciFeedback, FibonacciFeedbackMessage,
            FibonacciGetResultResponse, FibonacciResult
        }
        example_interfaces::msg {
            ByteMultiArray, Float32MultiArray, Float64MultiArray, Int16MultiArray, Int32MultiArray,
            Int64MultiArray, Int8MultiArray, UInt16MultiArray, UInt32MultiArray, UInt64MultiArray, UInt8MultiArray
        }
        map_msgs::msg { OccupancyGridUpdate, PointCloud2Update, ProjectedMap }
        map_msgs::srv { GetMapROIResponse, GetPointMapResponse, GetPointMapROIResponse }
        nav_msgs::action { GetMapActionResult, GetMapGetResultResponse, GetMapResult }
        nav_msgs::msg { OccupancyGrid }
        nav_msgs::srv { GetMapResponse, LoadMapResponse }
        rcl_interfaces::srv { GetParameterTypesResponse }
        sensor_msgs::msg {
            CameraInfo, ChannelFloat32, CompressedImage, Image, JointState, Joy, LaserEcho, LaserScan, PointCloud2
        }
        sensor_msgs::srv { SetCameraInfoRequest }
        shape_msgs::msg { SolidPrimitive }
        std_msgs::msg {
            ByteMultiArray, Float32MultiArray, Float64MultiArray, Int16MultiArray, Int32MultiArray,
            Int64MultiArray, Int8MultiArray, UInt16MultiArray, UInt32MultiArray, UInt64MultiArray, UInt8MultiArray
        }
        stereo_msgs::msg { DisparityImage }
        trajectory_msgs::msg { JointTrajectoryPoint }
        visualization_msgs::msg { MeshFile }
    );
    let library = runnel_msgs::library();
    let parts = |name: &TypeName| ["Request", "Response"].map(|suffix| name.with_suffix(suffix));
    let names = library.names(Kind::Message).cloned().chain(library.names(Kind::Service).flat_map(parts));
    let ends_in_one = |name: &TypeName| tail_of(&library.message(name).unwrap()).is_some();
    let mut names: Vec<String> = names.filter(ends_in_one).map(|name| name.to_string()).collect();
    checked.sort_unstable();
    names.sort_unstable();
    assert_eq!(checked, names);
}

#[test]
fn what_a_publisher_may_lend_is_known_of_each_type() {
    let tail = |element, after| Some(Tail { element, after });
    assert_eq!(sensor_msgs::msg::Image::TAIL, tail(1, 0));
    assert_eq!(sensor_msgs::msg::PointCloud2::TAIL, tail(1, 1));
    assert_eq!(sensor_msgs::msg::LaserScan::TAIL, tail(4, 0));
    assert_eq!(nav_msgs::action::GetMapActionResult::TAIL, tail(1, 0));
    assert_eq!(std_msgs::msg::Float64MultiArray::TAIL, tail(8, 0));
    assert_eq!(stereo_msgs::msg::DisparityImage::TAIL, tail(1, 4 + 4 + 17 + 4 + 4 + 4));
    assert_eq!(stereo_msgs::msg::DisparityImage::ROS2_TAIL, tail(1, 4 + 4 + 17 + 4 + 4 + 4));
    assert_eq!(shape_msgs::msg::SolidPrimitive::TAIL, tail(8, 0));
    assert_eq!(shape_msgs::msg::SolidPrimitive::ROS2_TAIL, None);
    assert_eq!(std_msgs::msg::String::TAIL, None);
    assert_eq!(geometry_msgs::msg::Twist::TAIL, None);
    assert_eq!(tf2_msgs::msg::TFMessage::TAIL, None);
    let scan =
        sensor_msgs::msg::LaserScan { ranges: vec![1.0; 9], intensities: vec![2.0; 3], ..Default::default() };
    assert_eq!(
        (
            scan.tail_len(Encoding::Ros1),
            std_msgs::msg::String { data: "text".into() }.tail_len(Encoding::Ros1)
        ),
        (3, 0)
    );
}

#[test]
fn memory_that_is_too_small_is_left_alone() {
    let cloud = sensor_msgs::msg::PointCloud2 { is_dense: true, ..Default::default() };
    let needed = len_with_tail(&cloud, Encoding::Ros1, 5).unwrap();
    for available in 0..needed {
        let mut memory = vec![NOISE; available];
        let error = write_with_tail(&cloud, Encoding::Ros1, 5, &mut memory).unwrap_err();
        assert_eq!(error, TailError::DoesNotFit { message: "sensor_msgs/PointCloud2", needed, available });
        assert_eq!(memory, vec![NOISE; available]);
    }
    assert_eq!(
        write_with_tail(&cloud, Encoding::Ros1, 5, &mut [0; 3]).unwrap_err().to_string(),
        format!("sensor_msgs/PointCloud2 needs {needed} bytes, but only 3 are available")
    );
}

#[test]
fn a_message_that_cannot_be_filled_in_place_is_refused() {
    let mut memory = [NOISE; 100];
    let rows = [
        (
            write_with_tail(&std_msgs::msg::String::default(), Encoding::Ros1, 0, &mut memory),
            "std_msgs/String does not end in an array of numbers that could be filled in place",
        ),
        (
            write_with_tail(
                &sensor_msgs::msg::Joy { buttons: vec![0; 2], ..Default::default() },
                Encoding::Ros1,
                2,
                &mut memory,
            ),
            "the array of sensor_msgs/Joy to be filled in place is not empty: it has 2 elements",
        ),
        (
            write_with_tail(
                &std_msgs::msg::UInt8MultiArray::default(),
                Encoding::Ros1,
                u32::MAX as usize + 1,
                &mut memory,
            ),
            "the last array of std_msgs/UInt8MultiArray cannot have 4294967296 elements",
        ),
        (
            write_with_tail(
                &std_msgs::msg::UInt64MultiArray::default(),
                Encoding::Ros1,
                usize::MAX,
                &mut memory,
            ),
            "the last array of std_msgs/UInt64MultiArray cannot have 18446744073709551615 elements",
        ),
    ];
    for (result, why) in rows {
        assert_eq!(result.unwrap_err().to_string(), why);
    }
    assert_eq!(memory, [NOISE; 100]);
    let most = len_with_tail(&std_msgs::msg::UInt64MultiArray::default(), Encoding::Ros1, u32::MAX as usize);
    assert_eq!(most, Ok(12 + 8 * u32::MAX as usize));
}

/// The length is that of the bytes, which memory of that size holds and less does not.
fn has_its_length<M: Message>() {
    let (schema, mut random) = (schema::<M>(Generation::Ros1), Rng::new(7));
    for _ in 0..100 {
        let bytes = random_message(&mut random, &schema);
        let message: M = decode(&bytes).unwrap();
        assert_eq!(message.wire_len(), bytes.len(), "{}", M::TYPE);
        let mut memory = vec![NOISE; bytes.len()];
        let mut sink = SliceSink::new(&mut memory);
        message.write(&mut sink as &mut dyn Sink);
        assert_eq!((sink.len(), sink.fits()), (bytes.len(), true));
        assert_eq!(memory, bytes, "{}", M::TYPE);

        let available = random.below(bytes.len().max(1));
        let mut sink = SliceSink::new(&mut memory[..available]);
        message.write(&mut sink);
        assert_eq!((sink.len(), sink.fits()), (bytes.len(), bytes.is_empty()));
    }
}

#[test]
fn encoded_message_has_announced_length() {
    each!(has_its_length:
        std_msgs::msg { Empty, String, Header, Bool, ByteMultiArray, Float64MultiArray }
        geometry_msgs::msg { Twist, PoseWithCovarianceStamped, PolygonStamped }
        diagnostic_msgs::msg { DiagnosticArray }
        nav_msgs::msg { OccupancyGrid, Path }
        sensor_msgs::msg { CameraInfo, Image, JointState, LaserScan, MultiEchoLaserScan, PointCloud2 }
        shape_msgs::msg { Mesh }
        tf2_msgs::msg { TFMessage }
        trajectory_msgs::msg { JointTrajectory }
        visualization_msgs::msg { InteractiveMarkerUpdate, MarkerArray }
    );
}
