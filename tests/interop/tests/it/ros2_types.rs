//! ROS 2 messages and type hashes compared with the originals: rclpy with Fast DDS, and the hashes in its packages.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::sync::{Arc, LazyLock};

use interop::distros::{Distro, python};
use runnel_core::Message;
use runnel_core::dynamic::DynamicMessage;
use runnel_core::schema::{Generation, Kind, Library, Schema, TypeName, definition_files};
use runnel_core::wire::{Encoding, Sink, cdr};
use runnel_core::yaml::to_json;
use runnel_testkit::messages::distinct_message;
use serde_json::{Value as Json, json};

static LIBRARY: LazyLock<Library> = LazyLock::new(runnel_msgs::library);

/// Packages that must be installed for the comparison, and the least number of compared types.
const PACKAGES: [&str; 12] = [
    "action_msgs",
    "builtin_interfaces",
    "diagnostic_msgs",
    "geometry_msgs",
    "nav_msgs",
    "rcl_interfaces",
    "rmw_dds_common",
    "sensor_msgs",
    "std_msgs",
    "std_srvs",
    "test_msgs",
    "visualization_msgs",
];
const LEAST_COMPARED: usize = 170;

/// Folder of a release's definitions.
fn share(distro: Distro) -> PathBuf {
    let share = python(distro).parent().unwrap().parent().unwrap().join("share");
    let lacking: Vec<_> = PACKAGES.iter().filter(|package| !share.join(package).is_dir()).collect();
    assert!(lacking.is_empty(), "{lacking:?} are not installed for {distro:?}: run ./test");
    share
}

/// The hash that is installed with each definition of a release.
fn hashes(distro: Distro) -> BTreeMap<(Kind, TypeName), String> {
    let files = definition_files(&share(distro)).unwrap();
    let hash = |path: PathBuf| {
        let json: Json = serde_json::from_slice(&fs::read(path.with_extension("json")).unwrap()).unwrap();
        json["type_hashes"][0]["hash_string"].as_str().unwrap().to_owned()
    };
    files.into_iter().map(|file| ((file.kind, file.name), hash(file.path))).collect()
}

/// The hash of a type, if it is known.
fn hash(library: &Library, kind: Kind, name: &TypeName) -> Option<String> {
    match kind {
        Kind::Message => library.message_in(Generation::Ros2, name).ok()?.rihs01(),
        Kind::Service => library.service_in(Generation::Ros2, name).ok()?.rihs01(),
        Kind::Action => library.action_in(Generation::Ros2, name).ok()?.rihs01(),
    }
}

#[test]
fn installed_definitions_have_original_hash() {
    for distro in Distro::ALL {
        // Some fields of actions use ROS 1 messages, which are included in Runnel.
        let mut library = Library::new();
        library.add_folder(&share(distro)).unwrap();
        library.add_built_in(runnel_msgs::definitions().iter().copied());
        for ((kind, name), expected) in hashes(distro) {
            assert_eq!(hash(&library, kind, &name), Some(expected), "{distro:?} {kind:?} {name}");
        }
    }
}

#[test]
fn included_definitions_have_original_hash() {
    for distro in Distro::ALL {
        let known = hashes(distro).into_iter().filter(|((kind, name), _)| {
            let known = LIBRARY.is_in(Generation::Ros2, *kind, name);
            assert!(known || name.package == "test_msgs", "{name} is not known");
            known
        });
        for ((kind, name), expected) in known {
            assert_eq!(hash(&LIBRARY, kind, &name), Some(expected), "{distro:?} {kind:?} {name}");
        }
    }
}

/// The hash of every type in a release's definitions, including those derived from services and actions.
fn all_hashes(distro: Distro) -> BTreeMap<String, String> {
    let files = definition_files(&share(distro)).unwrap().into_iter();
    let hashes = files.flat_map(|file| {
        let json: Json =
            serde_json::from_slice(&fs::read(file.path.with_extension("json")).unwrap()).unwrap();
        json["type_hashes"].as_array().unwrap().clone()
    });
    let text = |json: &Json| json.as_str().unwrap().to_owned();
    hashes.map(|one| (text(&one["type_name"]), text(&one["hash_string"]))).collect()
}

#[test]
fn generated_types_have_original_hash() {
    macro_rules! each {
        ($($module:ident :: $kind:ident :: $name:ident,)*) => {
            [$((runnel_msgs::$module::$kind::$name::ROS2_TYPE, runnel_msgs::$module::$kind::$name::RIHS01),)*]
        };
    }
    let generated = runnel_msgs::each_message!(each);
    for distro in Distro::ALL {
        let hashes = all_hashes(distro);
        let compared = generated.iter().filter_map(|(name, hash)| Some((name, hash, hashes.get(*name)?)));
        let compared = compared.map(|(name, hash, theirs)| assert_eq!(hash, theirs, "{name}")).count();
        assert!(compared >= LEAST_COMPARED, "only {compared} types of {distro:?} were compared");
    }
}

#[test]
fn action_services_have_original_hash() {
    for distro in Distro::ALL {
        let mut library = runnel_msgs::library();
        library.add_folder(&share(distro)).unwrap();
        let hashes = all_hashes(distro);
        for name in ["test_msgs/Fibonacci", "test_msgs/NestedMessage"] {
            let name = TypeName::parse(name).unwrap();
            for service in library.action_services_in(Generation::Ros2, &name).unwrap() {
                assert_eq!(
                    service.rihs01().as_ref(),
                    hashes.get(&service.ros2_name),
                    "{}",
                    service.ros2_name
                );
                let [request, response] = [&service.request, &service.response];
                assert_eq!(request.rihs01().as_ref(), hashes.get(&request.def.ros2_name));
                assert_eq!(response.rihs01().as_ref(), hashes.get(&response.def.ros2_name));
            }
        }
    }
}

/// An encoder that records which bytes are padding.
#[derive(Default)]
struct Marking {
    /// `None` for padding: the original leaves uninitialized memory there.
    bytes: Vec<Option<u8>>,
}

impl Sink for Marking {
    fn put(&mut self, bytes: &[u8]) {
        self.bytes.extend(bytes.iter().copied().map(Some));
    }

    fn encoding(&self) -> Encoding {
        Encoding::Xcdr1
    }

    fn align(&mut self, to: usize) {
        let padding = self.encoding().padding(self.bytes.len(), to);
        self.bytes.extend(std::iter::repeat_n(None, padding));
    }
}

/// A message to compare with the original's.
struct Asked {
    /// The type's name in ROS 2.
    name: String,
    message: DynamicMessage,
    /// The payload as Runnel writes it.
    payload: Vec<u8>,
    /// The payload after its header, with padding marked, if known.
    marked: Option<Vec<Option<u8>>>,
}

impl Asked {
    /// A dynamic message of a schema.
    fn of_schema(schema: &Arc<Schema>) -> Self {
        let message = distinct_message(schema);
        let payload = message.to_payload(Encoding::Xcdr1).unwrap();
        Self { name: schema.def.ros2_name.clone(), message, payload, marked: None }
    }

    /// A message of a generated type.
    fn of_type<M: Message>() -> Self {
        let schema = LIBRARY.message_in(Generation::Ros2, &TypeName::parse(M::TYPE).unwrap()).unwrap();
        let asked = Self::of_schema(&schema);
        let message: M = cdr::decode(&asked.payload).unwrap();
        assert_eq!(cdr::encode(&message, Encoding::Xcdr1).as_ref(), Ok(&asked.payload));
        let mut marking = Marking::default();
        message.write(&mut marking);
        Self { name: M::ROS2_TYPE.to_owned(), marked: Some(marking.bytes), ..asked }
    }

    /// Compares with rclpy's result.
    fn compare(&self, distro: Distro, answer: &Json) {
        let name = format!("{} of {distro:?}", self.name);
        assert_eq!(answer["same"], true, "{name} is another message there");
        let theirs = bytes_of(answer["payload"].as_str().unwrap());
        // For types with a maximum size the original pads the last word.
        let more = theirs.len().checked_sub(self.payload.len());
        assert!(
            more.is_some_and(|more| more < 4),
            "{name}: {} bytes, not {}",
            theirs.len(),
            self.payload.len()
        );
        let decoded = DynamicMessage::decode_payload(self.message.schema(), &theirs);
        assert!(decoded.as_ref() == Ok(&self.message), "{name}: {decoded:?}");
        let default = bytes_of(answer["default"].as_str().unwrap());
        let default = DynamicMessage::decode_payload(self.message.schema(), &default);
        assert!(default == DynamicMessage::default_of(self.message.schema()), "{name}: {default:?}");
        for (at, byte) in self.marked.iter().flatten().enumerate() {
            let theirs = theirs[cdr::HEADER_LEN + at];
            assert!(byte.is_none_or(|ours| ours == theirs), "{name}: byte {at} is {theirs}, not {byte:?}");
        }
    }
}

fn bytes_of(hex: &str) -> Vec<u8> {
    (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect()
}

/// rclpy's result for each; `None` if the type is not installed.
fn answers(distro: Distro, asked: &[Asked]) -> Vec<Option<Json>> {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("asked");
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let line = |one: &Asked| {
        let asked = json!({ "type": one.name, "value": to_json(&one.message), "payload": hex(&one.payload) });
        format!("{asked}\n")
    };
    fs::write(&file, asked.iter().map(line).collect::<String>()).unwrap();
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/peers/rclpy/types.py");
    let output = Command::new(python(distro)).arg(script).arg(&file).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let lines = String::from_utf8(output.stdout).unwrap();
    let answers: Vec<Option<Json>> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(answers.len(), asked.len());
    answers
}

#[test]
fn messages_are_encoded_and_decoded_as_original() {
    macro_rules! each {
        ($($module:ident :: $kind:ident :: $name:ident,)*) => {
            vec![$(Asked::of_type::<runnel_msgs::$module::$kind::$name>(),)*]
        };
    }
    let asked = runnel_msgs::each_message!(each);
    for distro in Distro::ALL {
        let mut compared = 0;
        for (one, answer) in asked.iter().zip(answers(distro, &asked)) {
            if let Some(answer) = answer {
                one.compare(distro, &answer);
                compared += 1;
            }
        }
        assert!(compared >= LEAST_COMPARED, "only {compared} types of {distro:?} were compared");
    }
}

/// Every kind of field except `wstring`, whose encoding is not specified.
#[test]
fn ros2_test_messages_are_encoded_and_decoded_as_original() {
    for distro in Distro::ALL {
        let mut library = Library::new();
        library.add_folder(&share(distro)).unwrap();
        let names = library.names(Kind::Message).chain(library.names(Kind::Service));
        let names = names.filter(|name| name.package == "test_msgs" && name.name != "WStrings");
        let schemas = names.flat_map(|name| {
            let parts = [name.clone(), name.with_suffix("Request"), name.with_suffix("Response")];
            parts.into_iter().filter_map(|part| library.message_in(Generation::Ros2, &part).ok())
        });
        let asked: Vec<Asked> = schemas.map(|schema| Asked::of_schema(&schema)).collect();
        let answers = answers(distro, &asked);
        let compared = asked.iter().zip(answers).filter_map(|(one, answer)| Some((one, answer?)));
        let compared: Vec<_> = compared.map(|(one, answer)| one.compare(distro, &answer)).collect();
        assert!(compared.len() > 30, "only {} types were compared", compared.len());
    }
}
