//! Every standard message in every encoding: the generated types against dynamic messages of their definitions.

use runnel_core::Message;
use runnel_core::dynamic::DynamicMessage;
use runnel_core::schema::{Generation, Library, Schema, TypeName};
use runnel_core::wire::{self, Bytes, Encoding, cdr};
use runnel_testkit::messages::distinct_message;
use std::fmt::Debug;
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, LazyLock};

static LIBRARY: LazyLock<Library> = LazyLock::new(runnel_msgs::library);

fn schema<M: Message>(generation: Generation) -> Arc<Schema> {
    LIBRARY.message_in(generation, &TypeName::parse(M::TYPE).unwrap()).unwrap()
}

fn payload(message: &DynamicMessage, encoding: Encoding) -> Vec<u8> {
    message.to_payload(encoding).unwrap()
}

/// Reads a payload, and compares it with the dynamic message.
fn read<M: Message>(bytes: &[u8], encoding: Encoding) -> M {
    match encoding {
        Encoding::Ros1 => wire::decode(bytes).unwrap(),
        _ => cdr::decode(bytes).unwrap(),
    }
}

/// A payload is read and written again, as an owned value, in a value that is in use and as a view, also where another
/// process could write it.
fn goes_round<M: Message>(bytes: &[u8], encoding: Encoding, in_use: &mut M)
where
    for<'a> M::View<'a>: Debug,
{
    let message = read::<M>(bytes, encoding);
    assert_eq!(cdr::encode(&message, encoding).as_deref(), Ok(bytes), "{} {encoding:?}", M::TYPE);
    assert_eq!(cdr::encoded_len(&message, encoding), bytes.len());
    assert!(bytes.len() >= M::MIN_LEN, "{}", M::TYPE);
    let words = in_words(bytes);
    for bytes in [Bytes::from(bytes), Bytes::shared(&words, BEFORE, bytes.len()).unwrap()] {
        let view = match encoding {
            Encoding::Ros1 => {
                wire::decode_into(in_use, bytes).unwrap();
                wire::decode_view::<M>(bytes).unwrap()
            }
            _ => {
                cdr::decode_into(in_use, bytes).unwrap();
                cdr::decode_view::<M>(bytes).unwrap()
            }
        };
        assert_eq!(*in_use, message);
        assert_eq!(format!("{view:?}"), format!("{:?}", message.view()), "{}", M::TYPE);
        *in_use = M::ZERO;
    }
}

/// Bytes of the first word before the message.
const BEFORE: usize = 5;

fn in_words(bytes: &[u8]) -> Vec<AtomicUsize> {
    let mut all = [&[0xff; BEFORE], bytes].concat();
    all.resize(all.len().next_multiple_of(size_of::<usize>()), 0xff);
    all.as_chunks().0.iter().map(|word| AtomicUsize::new(usize::from_ne_bytes(*word))).collect()
}

/// Every truncated payload is refused, except one that lacks only padding.
fn parts_are_refused<M: Message>(bytes: &[u8]) {
    for len in 0..bytes.len() {
        assert!(cdr::decode::<M>(&bytes[..len]).is_err(), "{} {len}", M::TYPE);
        assert!(cdr::decode_view::<M>(&bytes[..len]).is_err(), "{} {len}", M::TYPE);
    }
}

fn default_and_filled_go_round<M: Message>() -> &'static str
where
    for<'a> M::View<'a>: Debug,
{
    for encoding in Encoding::ALL {
        let generation = if encoding.is_ros1() { Generation::Ros1 } else { Generation::Ros2 };
        let schema = schema::<M>(generation);
        let full = payload(&distinct_message(&schema), encoding);
        let default = payload(&DynamicMessage::default_of(&schema).unwrap(), encoding);
        goes_round(&full, encoding, &mut read::<M>(&default, encoding));
        goes_round(&default, encoding, &mut read::<M>(&full, encoding));
        let own = cdr::encode(&M::default(), encoding).unwrap();
        goes_round(&own, encoding, &mut read::<M>(&full, encoding));
        if encoding == Encoding::Xcdr1 {
            assert_eq!(own, default, "{}", M::TYPE);
            parts_are_refused::<M>(&full);
        }
    }
    M::TYPE
}

#[test]
fn every_message_goes_round_in_every_encoding() {
    macro_rules! each {
        ($($module:ident :: $kind:ident :: $name:ident,)*) => {
            [$(default_and_filled_go_round::<runnel_msgs::$module::$kind::$name>(),)*]
        };
    }
    let names = runnel_msgs::each_message!(each);
    assert!(names.len() > 250, "{}", names.len());
}

fn has_its_names<M: Message>() {
    let schema = schema::<M>(Generation::Ros2);
    assert_eq!(Some(M::RIHS01), schema.rihs01().as_deref(), "{}", M::TYPE);
    assert_eq!((M::ROS2_TYPE, M::DDS_TYPE), (schema.def.ros2_name.as_str(), schema.def.dds_name().as_str()));
}

#[test]
fn every_message_has_the_names_and_the_hash_of_its_definition() {
    macro_rules! each {
        ($($module:ident :: $kind:ident :: $name:ident,)*) => {
            $(has_its_names::<runnel_msgs::$module::$kind::$name>();)*
        };
    }
    runnel_msgs::each_message!(each);
}
