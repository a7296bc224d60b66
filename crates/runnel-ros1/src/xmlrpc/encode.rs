//! Encoder of XML-RPC documents.

use super::error::{EncodeError, EncodeProblem};
use super::tag::Tag;
use super::{Fault, MAX_DEPTH, MAX_VALUES, Value, base64, double, first_forbidden};

const PROLOGUE: &str = "<?xml version=\"1.0\"?>";

/// Encodes a call.
///
/// # Errors
/// If a text has a character that XML cannot hold, or the values exceed [`MAX_DEPTH`] or [`MAX_VALUES`].
pub fn encode_call<'a>(
    method: &str,
    params: impl IntoIterator<Item = &'a Value>,
) -> Result<Vec<u8>, EncodeError> {
    let mut writer = Writer::new();
    match writer.call(method, params) {
        Ok(()) => Ok(writer.out.into_bytes()),
        Err(problem) => Err(EncodeError { method: Some(method.to_owned()), problem }),
    }
}

/// Encodes the response to a call: a value, or a fault.
///
/// # Errors
/// If a text has a character that XML cannot hold, or the values exceed [`MAX_DEPTH`] or [`MAX_VALUES`].
pub fn encode_response(answer: &Result<Value, Fault>) -> Result<Vec<u8>, EncodeError> {
    let mut writer = Writer::new();
    match writer.response(answer) {
        Ok(()) => Ok(writer.out.into_bytes()),
        Err(problem) => Err(EncodeError { method: None, problem }),
    }
}

/// A document in progress, and the number of its values.
struct Writer {
    out: String,
    values: usize,
}

impl Writer {
    fn new() -> Self {
        Self { out: PROLOGUE.to_owned(), values: 0 }
    }

    fn call<'a>(
        &mut self,
        method: &str,
        params: impl IntoIterator<Item = &'a Value>,
    ) -> Result<(), EncodeProblem> {
        self.open(Tag::MethodCall);
        self.leaf(Tag::MethodName, method)?;
        self.open(Tag::Params);
        params.into_iter().try_for_each(|param| self.param(param))?;
        self.close(Tag::Params);
        self.close(Tag::MethodCall);
        Ok(())
    }

    fn response(&mut self, answer: &Result<Value, Fault>) -> Result<(), EncodeProblem> {
        self.open(Tag::MethodResponse);
        match answer {
            Ok(value) => {
                self.open(Tag::Params);
                self.param(value)?;
                self.close(Tag::Params);
            }
            Err(fault) => self.fault(fault)?,
        }
        self.close(Tag::MethodResponse);
        Ok(())
    }

    fn param(&mut self, value: &Value) -> Result<(), EncodeProblem> {
        self.open(Tag::Param);
        self.value(value, 1)?;
        self.close(Tag::Param);
        Ok(())
    }

    fn fault(&mut self, fault: &Fault) -> Result<(), EncodeProblem> {
        self.open(Tag::Fault);
        self.open(Tag::Value);
        self.open(Tag::Struct);
        self.member("faultCode", &Value::Int(fault.code), 2)?;
        self.member("faultString", &Value::String(fault.message.clone()), 2)?;
        self.close(Tag::Struct);
        self.close(Tag::Value);
        self.close(Tag::Fault);
        Ok(())
    }

    fn value(&mut self, value: &Value, depth: usize) -> Result<(), EncodeProblem> {
        if depth > MAX_DEPTH {
            return Err(EncodeProblem::TooDeep);
        }
        if self.values == MAX_VALUES {
            return Err(EncodeProblem::TooManyValues);
        }
        self.values += 1;
        self.open(Tag::Value);
        self.typed(value, depth)?;
        self.close(Tag::Value);
        Ok(())
    }

    fn typed(&mut self, value: &Value, depth: usize) -> Result<(), EncodeProblem> {
        match value {
            Value::Int(number) => self.leaf(Tag::Int, &number.to_string()),
            Value::Bool(truth) => self.leaf(Tag::Boolean, if *truth { "1" } else { "0" }),
            Value::String(text) => self.leaf(Tag::String, text),
            Value::Double(number) => self.leaf(Tag::Double, &double::format(*number)),
            Value::DateTime(text) => self.leaf(Tag::DateTime, text),
            Value::Binary(bytes) => self.leaf(Tag::Base64, &base64::encode(bytes)),
            Value::Array(elements) => {
                self.open(Tag::Array);
                self.open(Tag::Data);
                elements.iter().try_for_each(|element| self.value(element, depth + 1))?;
                self.close(Tag::Data);
                self.close(Tag::Array);
                Ok(())
            }
            Value::Struct(members) => {
                self.open(Tag::Struct);
                members.iter().try_for_each(|(name, value)| self.member(name, value, depth + 1))?;
                self.close(Tag::Struct);
                Ok(())
            }
        }
    }

    fn member(&mut self, name: &str, value: &Value, depth: usize) -> Result<(), EncodeProblem> {
        self.open(Tag::Member);
        self.leaf(Tag::Name, name)?;
        self.value(value, depth)?;
        self.close(Tag::Member);
        Ok(())
    }

    /// Writes an element that holds only text.
    fn leaf(&mut self, tag: Tag, text: &str) -> Result<(), EncodeProblem> {
        if let Some((offset, ch)) = first_forbidden(text) {
            return Err(EncodeProblem::Character { element: tag.name(), ch, offset });
        }
        self.open(tag);
        self.escaped(text);
        self.close(tag);
        Ok(())
    }

    /// Escapes text. `>` is escaped too, so that `]]>` never appears.
    fn escaped(&mut self, text: &str) {
        let mut rest = text;
        while let Some((at, entity)) = first_escape(rest) {
            let (plain, special) = rest.split_at(at);
            self.out.push_str(plain);
            self.out.push_str(entity);
            rest = special.get(1..).unwrap_or_default();
        }
        self.out.push_str(rest);
    }

    fn open(&mut self, tag: Tag) {
        self.out.push('<');
        self.out.push_str(tag.name());
        self.out.push('>');
    }

    fn close(&mut self, tag: Tag) {
        self.out.push_str("</");
        self.out.push_str(tag.name());
        self.out.push('>');
    }
}

/// The first character that must be escaped, and its entity.
fn first_escape(text: &str) -> Option<(usize, &'static str)> {
    text.bytes().enumerate().find_map(|(at, byte)| match byte {
        b'<' => Some((at, "&lt;")),
        b'>' => Some((at, "&gt;")),
        b'&' => Some((at, "&amp;")),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn text(result: Result<Vec<u8>, EncodeError>) -> String {
        String::from_utf8(result.expect("encodes")).expect("is UTF-8")
    }

    #[test]
    fn call_has_no_white_space_between_elements() {
        let call = encode_call("requestTopic", &["/n".into(), 7.into(), true.into()]);
        assert_eq!(
            text(call),
            "<?xml version=\"1.0\"?><methodCall><methodName>requestTopic</methodName><params>\
             <param><value><string>/n</string></value></param>\
             <param><value><i4>7</i4></value></param>\
             <param><value><boolean>1</boolean></value></param></params></methodCall>"
        );
    }

    #[test]
    fn arrays_structs_and_bytes_match_roscpp() {
        let members = BTreeMap::from([("a".to_owned(), Value::Double(0.5)), ("b".to_owned(), "".into())]);
        let value = Value::Array(vec![Value::Struct(members), Value::Binary(b"abc".to_vec())]);
        assert_eq!(
            text(encode_response(&Ok(value))),
            "<?xml version=\"1.0\"?><methodResponse><params><param><value><array><data><value><struct>\
             <member><name>a</name><value><double>0.5</double></value></member>\
             <member><name>b</name><value><string></string></value></member></struct></value>\
             <value><base64>YWJj</base64></value></data></array></value></param></params></methodResponse>"
        );
    }

    #[test]
    fn fault_is_struct_of_code_and_text() {
        let fault = Fault { code: -1, message: "x: unknown method name".to_owned() };
        assert_eq!(
            text(encode_response(&Err(fault))),
            "<?xml version=\"1.0\"?><methodResponse><fault><value><struct>\
             <member><name>faultCode</name><value><i4>-1</i4></value></member>\
             <member><name>faultString</name><value><string>x: unknown method name</string></value></member>\
             </struct></value></fault></methodResponse>"
        );
    }

    #[test]
    fn markup_in_texts_is_escaped() {
        let call = text(encode_call("a<b", &["]]>&\"'\r\n".into()]));
        assert!(call.contains("<methodName>a&lt;b</methodName>"), "{call}");
        assert!(call.contains("<string>]]&gt;&amp;\"'\r\n</string>"), "{call}");
    }

    #[test]
    fn character_outside_xml_is_refused_and_named() {
        let error = encode_call("setParam", &["ab\u{7}".into()]).expect_err("refused");
        assert_eq!(
            error.to_string(),
            "call of setParam: character U+0007 at byte 2 of a <string> cannot be written in XML"
        );
        for ch in ['\0', '\u{1f}', '\u{fffe}', '\u{ffff}'] {
            assert!(encode_response(&Ok(Value::String(ch.into()))).is_err());
        }
    }

    #[test]
    fn too_deeply_nested_values_are_refused() {
        let nest = |depth| (1..depth).fold(Value::Int(1), |inner, _| Value::Array(vec![inner]));
        assert!(encode_response(&Ok(nest(MAX_DEPTH))).is_ok());
        let error = encode_response(&Ok(nest(MAX_DEPTH + 1))).expect_err("refused");
        assert_eq!(error.problem, EncodeProblem::TooDeep);
    }

    #[test]
    fn too_many_values_are_refused() {
        let after = |values: usize| {
            let value = Value::Array(vec![Value::Int(1), Value::Int(2)]);
            Writer { out: String::new(), values }.response(&Ok(value))
        };
        assert_eq!(after(MAX_VALUES - 3), Ok(()));
        assert_eq!(after(MAX_VALUES - 2), Err(EncodeProblem::TooManyValues));
    }
}
