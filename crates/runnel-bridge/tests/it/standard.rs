//! Every message of the standard packages, both ways, byte for byte.

use std::sync::Arc;

use runnel_bridge::{Plan, Rules};
use runnel_core::Message;
use runnel_core::dynamic::{Array, DynamicMessage, Value};
use runnel_core::schema::{Arity, Element, Field, Generation, Kind, Primitive, Schema, TypeName};
use runnel_core::wire::{self, Bytes, Encoding, cdr};

/// Numbers from a seed.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        // SplitMix64.
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit as u64) as usize
    }

    fn text(&mut self, bound: usize) -> String {
        let all = ["", "a", "map", "é", "base_link", "0123456789abcdef"];
        let text = all[self.below(all.len())];
        if text.len() > bound { String::new() } else { text.to_owned() }
    }
}

/// A message with values of all fields.
fn filled(schema: &Arc<Schema>, random: &mut Random) -> DynamicMessage {
    let mut message = DynamicMessage::default_of(schema).unwrap();
    for (field, part) in schema.def.fields.iter().zip(&schema.parts) {
        message.set(&field.name, value(field, part.as_ref(), random)).unwrap();
    }
    message
}

fn value(field: &Field, part: Option<&Arc<Schema>>, random: &mut Random) -> Value {
    let count = match field.arity {
        Arity::One => return one(field, part, random),
        Arity::Fixed(count) => count,
        Arity::Bounded(most) => random.below(most.min(3) + 1),
        Arity::Unbounded => random.below(4),
    };
    let elements: Vec<Value> = (0..count).map(|_| one(field, part, random)).collect();
    Value::Array(array(&field.element, elements))
}

fn array(element: &Element, elements: Vec<Value>) -> Array {
    macro_rules! numbers {
        ($variant:ident, $from:path, $to:ty) => {
            Array::$variant(
                elements
                    .into_iter()
                    .map(|value| match value {
                        $from(value) => value as $to,
                        other => panic!("{other:?}"),
                    })
                    .collect(),
            )
        };
    }
    macro_rules! values {
        ($variant:ident) => {
            Array::$variant(
                elements
                    .into_iter()
                    .map(|value| match value {
                        Value::$variant(value) => value,
                        other => panic!("{other:?}"),
                    })
                    .collect(),
            )
        };
    }
    match element {
        Element::Message(_) => values!(Message),
        Element::Primitive(primitive) => match primitive {
            Primitive::Bool => values!(Bool),
            Primitive::I8 => numbers!(I8, Value::Int, i8),
            Primitive::I16 => numbers!(I16, Value::Int, i16),
            Primitive::I32 => numbers!(I32, Value::Int, i32),
            Primitive::I64 => numbers!(I64, Value::Int, i64),
            Primitive::U8 => numbers!(U8, Value::UInt, u8),
            Primitive::U16 => numbers!(U16, Value::UInt, u16),
            Primitive::U32 => numbers!(U32, Value::UInt, u32),
            Primitive::U64 => numbers!(U64, Value::UInt, u64),
            Primitive::F32 => values!(F32),
            Primitive::F64 => values!(F64),
            Primitive::Time => values!(Time),
            Primitive::Duration => values!(Duration),
            Primitive::String(_) | Primitive::WString(_) => values!(String),
        },
    }
}

fn one(field: &Field, part: Option<&Arc<Schema>>, random: &mut Random) -> Value {
    let bits = random.next();
    match &field.element {
        Element::Message(_) => Value::Message(filled(part.unwrap(), random)),
        Element::Primitive(primitive) => match primitive {
            Primitive::Bool => Value::Bool(bits & 1 == 1),
            Primitive::I8 => Value::Int((bits as i8).into()),
            Primitive::I16 => Value::Int((bits as i16).into()),
            Primitive::I32 => Value::Int((bits as i32).into()),
            Primitive::I64 => Value::Int(bits as i64),
            Primitive::U8 => Value::UInt((bits as u8).into()),
            Primitive::U16 => Value::UInt((bits as u16).into()),
            Primitive::U32 => Value::UInt((bits as u32).into()),
            Primitive::U64 => Value::UInt(bits),
            Primitive::F32 => Value::F32(bits as f32),
            Primitive::F64 => Value::F64(bits as f64),
            // Both generations have times from 1970 to 2038.
            Primitive::Time => Value::Time(runnel_core::time::Time {
                sec: (bits >> 33) as i32,
                nanosec: (bits as u32) % 1_000_000_000,
            }),
            Primitive::Duration => Value::Duration(runnel_core::time::Duration {
                sec: (bits >> 32) as i32,
                nanosec: (bits as u32) % 1_000_000_000,
            }),
            Primitive::String(bound) | Primitive::WString(bound) => {
                Value::String(random.text(bound.unwrap_or(usize::MAX)))
            }
        },
    }
}

fn payload(message: &DynamicMessage, encoding: Encoding) -> Vec<u8> {
    message.to_payload(encoding).unwrap()
}

fn converted(plan: &Plan, message: &[u8], encoding: Encoding) -> Vec<u8> {
    let mut out = vec![7; 3];
    let notes = plan.convert(Bytes::from(message), encoding, &mut out).unwrap();
    assert!(notes.is_empty(), "{notes:?}");
    out
}

fn is_wide(schema: &Schema) -> bool {
    let wide = |field: &Field| matches!(field.element, Element::Primitive(Primitive::WString(_)));
    schema.def.fields.iter().any(wide) || schema.parts.iter().flatten().any(|part| is_wide(part))
}

#[test]
fn every_standard_message_converts_both_ways() {
    let library = runnel_msgs::library();
    let rules = Rules::default();
    let mut count = 0;
    for name in library.names(Kind::Message) {
        let [ros1, ros2] = Generation::ALL.map(|of| library.message_in(of, name).unwrap());
        if is_wide(&ros1) {
            assert!(Plan::compile(&ros1, &ros2, &rules).is_err(), "{name}");
            continue;
        }
        let to_ros2 = Plan::compile(&ros1, &ros2, &rules).unwrap_or_else(|error| panic!("{name}: {error}"));
        let to_ros1 = Plan::compile(&ros2, &ros1, &rules).unwrap_or_else(|error| panic!("{name}: {error}"));
        for seed in 0..20 {
            let message = filled(&ros1, &mut Random(seed));
            let expected = message.to_form(&ros2).unwrap();
            let bytes = payload(&message, Encoding::Ros1);
            assert_eq!(
                converted(&to_ros2, &bytes, Encoding::Ros1),
                payload(&expected, Encoding::Xcdr1),
                "{name} to ROS 2, seed {seed}"
            );
            let message = filled(&ros2, &mut Random(seed));
            let expected = payload(&message.to_form(&ros1).unwrap(), Encoding::Ros1);
            for encoding in [Encoding::Xcdr1, Encoding::Xcdr2] {
                let bytes = payload(&message, encoding);
                assert_eq!(
                    converted(&to_ros1, &bytes, encoding),
                    expected,
                    "{name} from {encoding:?}, seed {seed}"
                );
            }
        }
        count += 1;
    }
    assert!(count > 250, "{count}");
}

/// Sets `seq` of each header to 0: ROS 2 does not have it.
fn without_seq(message: &mut DynamicMessage) {
    let paths = header_paths(message.schema());
    for path in paths {
        message.set(&format!("{path}.seq"), 0_u32).unwrap();
    }
}

/// The headers that are not in an array.
fn header_paths(schema: &Schema) -> Vec<String> {
    let mut paths = Vec::new();
    for (field, part) in schema.def.fields.iter().zip(&schema.parts) {
        let Some(part) = part.as_ref().filter(|_| field.arity == Arity::One) else { continue };
        if part.def.name == TypeName::new("std_msgs", "Header") {
            paths.push(field.name.clone());
        }
        paths.extend(header_paths(part).into_iter().map(|path| format!("{}.{path}", field.name)));
    }
    paths
}

/// Whether the message, or an element of an array of it, has a header in an array.
fn has_header_in_array(schema: &Schema, is_in_array: bool) -> bool {
    schema.def.fields.iter().zip(&schema.parts).any(|(field, part)| {
        let is_in_array = is_in_array || field.arity != Arity::One;
        part.as_ref().is_some_and(|part| {
            is_in_array && part.def.name == TypeName::new("std_msgs", "Header")
                || has_header_in_array(part, is_in_array)
        })
    })
}

#[test]
fn ros1_bytes_return_unchanged_from_ros2() {
    let (library, rules) = (runnel_msgs::library(), Rules::default());
    let mut count = 0;
    for name in library.names(Kind::Message) {
        let [ros1, ros2] = Generation::ALL.map(|of| library.message_in(of, name).unwrap());
        let Ok(there) = Plan::compile(&ros1, &ros2, &rules) else { continue };
        let back = Plan::compile(&ros2, &ros1, &rules).unwrap();
        let is_complete = there.dropped().is_empty() && back.defaulted().is_empty();
        if !is_complete
            || has_header_in_array(&ros1, false)
            || name.package == "std_msgs" && name.name == "Header"
        {
            continue;
        }
        for seed in 100..120 {
            let mut message = filled(&ros1, &mut Random(seed));
            without_seq(&mut message);
            let bytes = payload(&message, Encoding::Ros1);
            let ros2_bytes = converted(&there, &bytes, Encoding::Ros1);
            assert_eq!(converted(&back, &ros2_bytes, Encoding::Xcdr1), bytes, "{name}, seed {seed}");
        }
        count += 1;
    }
    assert!(count > 200, "{count}");
}

/// Converts filled messages both ways, and compares the bytes with those of the generated type.
fn converts_as_generated_type<M: Message>() -> bool {
    let library = runnel_msgs::library();
    let name = TypeName::parse(M::TYPE).unwrap();
    let [ros1, ros2] = Generation::ALL.map(|of| library.message_in(of, &name).unwrap());
    if is_wide(&ros1) {
        return false;
    }
    let rules = Rules::default();
    let to_ros2 = Plan::compile(&ros1, &ros2, &rules).unwrap();
    let to_ros1 = Plan::compile(&ros2, &ros1, &rules).unwrap();
    let bytes = payload(&filled(&ros1, &mut Random(1)), Encoding::Ros1);
    let value = wire::decode::<M>(&bytes).unwrap();
    let expected = cdr::encode(&value, Encoding::Xcdr1).unwrap();
    assert_eq!(converted(&to_ros2, &bytes, Encoding::Ros1), expected, "{} to ROS 2", M::TYPE);
    let bytes = payload(&filled(&ros2, &mut Random(2)), Encoding::Xcdr1);
    let value = cdr::decode::<M>(&bytes).unwrap();
    assert_eq!(converted(&to_ros1, &bytes, Encoding::Xcdr1), wire::encode(&value), "{} to ROS 1", M::TYPE);
    true
}

#[test]
fn every_standard_message_converts_as_its_generated_type() {
    macro_rules! each {
        ($($module:ident :: $kind:ident :: $name:ident,)*) => {
            [$(converts_as_generated_type::<runnel_msgs::$module::$kind::$name>(),)*]
        };
    }
    let converted = runnel_msgs::each_message!(each);
    assert!(converted.iter().filter(|is_so| **is_so).count() > 250);
}
