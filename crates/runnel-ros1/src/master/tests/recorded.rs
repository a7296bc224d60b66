//! The master's answers against those recorded from rosmaster 1.15 for the same calls (recorded by `record.py`).

use serde_json::Value as Json;

use runnel_core::time::Instant;

use super::super::MasterLimits;
use super::super::api::{Request, call};
use super::super::state::State;
use crate::net::ConnId;
use crate::xmlrpc::Value;

/// The request that contains the calls.
const REQUEST: Request = Request { now: Instant(0), conn: ConnId(1), bytes: 0 };

const RECORDING: &str = include_str!("rosmaster.jsonl");

/// Intended differences. A node is removed when another one replaces its only service. An unknown service is reported as
/// unknown, which rosmaster does only while no service was ever registered.
const DIFFERENCES: &[(&str, &str)] = &[
    (r#"["lookupNode", ["/x", "/s1"]"#, r#"[-1, "unknown node [/s1]", ""]"#),
    (
        r#"["unregisterService", ["/s1", "/sv", "rosrpc://h:1"]"#,
        r#"[1, "[/s1] is not a registered node", 0]"#,
    ),
    (r#"["unregisterService", ["/a", "/none","#, r#"[1, "[/a] is not a provider of [/none]", 0]"#),
];

fn value(json: &Json) -> Value {
    match json {
        Json::Bool(truth) => (*truth).into(),
        Json::Number(number) => match number.as_i64() {
            Some(whole) => i32::try_from(whole).expect("a number of 32 bits").into(),
            None => number.as_f64().expect("a number").into(),
        },
        Json::String(text) => text.as_str().into(),
        Json::Array(elements) => values(elements).into(),
        Json::Object(members) => {
            Value::Struct(members.iter().map(|(name, member)| (name.clone(), value(member))).collect())
        }
        Json::Null => panic!("null is no value of ROS"),
    }
}

fn values(json: &[Json]) -> Vec<Value> {
    json.iter().map(value).collect()
}

/// An answer without parts that may differ: the text of faults, and the order of parameter names.
fn comparable_parts(method: &str, answer: Value) -> Value {
    match answer {
        Value::Struct(members) if members.contains_key("faultCode") => {
            members.get("faultCode").cloned().expect("the code")
        }
        Value::Array(elements) => {
            let mut elements: Vec<Value> =
                elements.into_iter().map(|element| comparable_parts(method, element)).collect();
            if method == "getParamNames" {
                elements.sort_by_key(|name| name.as_str().map(str::to_owned));
            }
            elements.into()
        }
        other => other,
    }
}

#[test]
fn answers_match_rosmaster() {
    let mut state = State::new("http://master:11311/".into(), 4242, MasterLimits::default());
    let mut wrong = Vec::new();
    for line in RECORDING.lines() {
        let entry: Json = serde_json::from_str(line).expect("a line of the recording");
        let (Some(method), Some(params)) = (entry[0].as_str(), entry[1].as_array()) else { panic!("{line}") };
        let recorded = match entry[2].get("fault") {
            Some(code) => value(code),
            None => value(&expected(line).unwrap_or_else(|| entry[2].clone())),
        };
        let response = match call(&mut state, REQUEST, method, &values(params)) {
            Ok(answer) => answer,
            Err(fault) => fault.code.into(),
        };
        if comparable_parts(method, response.clone()) != comparable_parts(method, recorded) {
            wrong.push(format!("{line}\n  but: {response:?}"));
        }
    }
    assert!(wrong.is_empty(), "{} answers differ:\n{}", wrong.len(), wrong.join("\n"));
}

fn expected(line: &str) -> Option<Json> {
    let (_, ours) = DIFFERENCES.iter().find(|(call, _)| line.starts_with(call))?;
    serde_json::from_str(ours).ok()
}

#[test]
fn listed_methods_exist() {
    let mut state = State::new("http://master:11311/".into(), 1, MasterLimits::default());
    let mut call = |method: &str, params: &[Value]| call(&mut state, REQUEST, method, params);
    let Ok(Value::Array(methods)) = call("system.listMethods", &[]) else { panic!("no list") };
    assert_eq!(methods.len(), 24);
    for method in methods.iter().filter_map(Value::as_str).filter(|name| !name.starts_with("system.")) {
        let Ok(Value::Array(reply)) = call(method, &[]) else { panic!("{method} is not known") };
        assert_eq!(reply.first(), Some(&(-1).into()), "{method}");
    }
}

#[test]
fn malformed_and_nested_multicalls_are_faults() {
    let mut state = State::new("http://master:11311/".into(), 1, MasterLimits::default());
    let mut call = |params: &[Value]| call(&mut state, REQUEST, "system.multicall", params);
    let entry = |text: &str| value(&serde_json::from_str(text).expect("an entry"));
    for wrong in [
        "3",
        "[3]",
        r#"[{"params": []}]"#,
        r#"[{"methodName": "getPid"}]"#,
        r#"[{"methodName": 3, "params": []}]"#,
    ] {
        assert_eq!(call(&[entry(wrong)]).map_err(|fault| fault.code), Err(1), "{wrong}");
    }
    assert!(call(&[]).is_err() && call(&[Vec::new().into(), Vec::new().into()]).is_err());
    for inner in
        [r#"{"methodName": "system.multicall", "params": [[]]}"#, r#"{"methodName": "getPid", "params": 3}"#]
    {
        let Ok(Value::Array(results)) = call(&[vec![entry(inner)].into()]) else { panic!("{inner}") };
        let [Value::Struct(fault)] = results.as_slice() else { panic!("{results:?}") };
        assert_eq!(fault.get("faultCode"), Some(&1.into()), "{inner}");
    }
}
