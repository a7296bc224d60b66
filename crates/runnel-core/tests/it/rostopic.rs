//! Messages and command lines, compared with the output of ROS Noetic's tools: `data/rostopic.json`, written by
//! `data/make_vectors.py`.
#![cfg(feature = "yaml")]

use runnel_core::dynamic::{DynamicMessage, ValueRef};
use runnel_core::schema::{Schema, TypeName};
use runnel_core::time::Time;
use runnel_core::yaml::{
    EchoOptions, from_json, from_yaml, from_yaml_args, plot_header, plot_row, to_json, to_yaml,
};
use serde_json::Value as Json;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The current time of the vectors.
const NOW: Time = Time { sec: 100, nanosec: 5 };

struct Vectors {
    json: Json,
    schemas: BTreeMap<String, Arc<Schema>>,
}

impl Vectors {
    fn read() -> Self {
        let json: Json = serde_json::from_str(include_str!("data/rostopic.json")).unwrap();
        let definitions = json["definitions"].as_object().unwrap();
        let schema = |(name, text): (&String, &Json)| {
            let parsed = Schema::from_full_text(&TypeName::parse(name).unwrap(), text.as_str().unwrap());
            (name.clone(), parsed.unwrap())
        };
        let schemas = definitions.iter().map(schema).collect();
        Self { json, schemas }
    }

    fn entries(&self, list: &str) -> impl Iterator<Item = (&Json, &Arc<Schema>)> {
        let entries = self.json[list].as_array().unwrap();
        entries.iter().map(|entry| (entry, &self.schemas[entry["type"].as_str().unwrap()]))
    }

    /// All messages of the `echo` vectors, decoded.
    fn messages(&self) -> impl Iterator<Item = (&Json, DynamicMessage)> {
        self.entries("echo").map(|(entry, schema)| {
            let bytes = unhex(entry["wire"].as_str().unwrap());
            (entry, DynamicMessage::decode(schema, &bytes).unwrap())
        })
    }
}

fn unhex(text: &str) -> Vec<u8> {
    let digit = |c: u8| char::from(c).to_digit(16).unwrap() as u8;
    text.as_bytes().chunks(2).map(|pair| digit(pair[0]) << 4 | digit(pair[1])).collect()
}

#[test]
fn messages_are_printed_as_rostopic_echo_prints_them() {
    let vectors = Vectors::read();
    let mut count = 0;
    for (entry, message) in vectors.messages() {
        let expected = entry["echo"].as_str().unwrap();
        assert_eq!(to_yaml(&message, &EchoOptions::default()), expected);
        let check = |option: &str, options: EchoOptions| {
            assert_eq!(
                to_yaml(&message, &options),
                entry[option].as_str().unwrap_or(expected),
                "with {option}"
            );
        };
        check("noarr", EchoOptions { no_arr: true, ..EchoOptions::default() });
        check("nostr", EchoOptions { no_str: true, ..EchoOptions::default() });
        count += 1;
    }
    assert!(count > 300, "{count} vectors");
}

#[test]
fn plot_tables_equal_those_of_rostopic_echo() {
    let vectors = Vectors::read();
    let plotted = vectors.messages().filter(|(entry, _)| entry["plot"].is_array());
    let mut count = 0;
    for (entry, message) in plotted {
        let header = entry["plot"][0].as_str().unwrap();
        let (value, options) = (ValueRef::Message(&message), EchoOptions::default());
        assert_eq!(plot_header(value, &options), header);
        assert_eq!(plot_row(value, NOW, &options), entry["plot"][1].as_str().unwrap());
        count += 1;
    }
    assert!(count > 30, "{count} vectors");
}

#[test]
fn decoded_message_is_encoded_to_the_same_bytes() {
    for (entry, message) in Vectors::read().messages() {
        assert_eq!(message.to_bytes(), unhex(entry["wire"].as_str().unwrap()));
    }
}

#[test]
fn printed_message_is_read_back() {
    for (entry, message) in Vectors::read().messages() {
        // Bytes are compared, since NaN does not equal itself.
        let wire = unhex(entry["wire"].as_str().unwrap());
        let text = to_yaml(&message, &EchoOptions::default());
        let read = from_yaml(message.schema(), &text, NOW).map(|message| message.to_bytes());
        assert_eq!(read.as_ref(), Ok(&wire), "{text}");
        let text = to_json(&message).to_string();
        let read = from_json(message.schema(), &text, NOW).map(|message| message.to_bytes());
        assert_eq!(read.as_ref(), Ok(&wire), "{text}");
    }
}

#[test]
fn command_lines_are_read_as_rostopic_pub_reads_them() {
    let vectors = Vectors::read();
    for (entry, schema) in vectors.entries("pub") {
        let arguments = entry["arguments"].as_array().unwrap().iter().map(|text| text.as_str().unwrap());
        let arguments: Vec<&str> = arguments.collect();
        let read = from_yaml_args(schema, &arguments, NOW).map(|message| message.to_bytes());
        match entry["wire"].as_str() {
            Some(wire) => assert_eq!(read, Ok(unhex(wire)), "{} {arguments:?}", entry["type"]),
            None => assert!(read.is_err(), "{} {arguments:?}", entry["type"]),
        }
    }
}
