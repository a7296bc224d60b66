//! Documents recorded from ros_comm, malformed documents, bounds, and random documents.

use proptest::prelude::*;

use super::*;
use crate::http::vectors::{self, body};
use crate::xmlrpc::{encode_call, encode_response};

/// Decodes a `<value>` element.
fn value(inside: &str) -> Result<Value, DecodeError> {
    let document = format!("<methodResponse><params><param>{inside}</param></params></methodResponse>");
    decode_response(document.as_bytes()).map(|answer| answer.expect("no fault"))
}

fn problem(inside: &str) -> DecodeProblem {
    value(inside).expect_err("refused").problem
}

fn call_error(document: &str) -> DecodeError {
    decode_call(document.as_bytes()).expect_err("refused")
}

fn strings(texts: &[&str]) -> Vec<Value> {
    texts.iter().map(|text| Value::from(*text)).collect()
}

#[test]
fn roscpp_calls_are_decoded() {
    let call = decode_call(body(vectors::ROSCPP_REGISTER_PUBLISHER)).expect("a call");
    assert_eq!(call.method, "registerPublisher");
    let params = ["/rosout", "/rosout_agg", "rosgraph_msgs/Log", "http://127.0.0.1:43339/"];
    assert_eq!(call.params, strings(&params));
}

#[test]
fn roscpp_values_of_every_type_are_decoded() {
    let call = decode_call(body(vectors::ROSCPP_VALUES)).expect("a call");
    let doubles = [
        1.5,
        0.1,
        0.1 + 0.2,
        1e300,
        -0.0,
        0.0,
        1e-7,
        123456789012345680.0,
        1e16,
        1e15,
        70368744177664.0 + 0.125,
        5e-324,
        0.0001,
        0.00001234,
    ];
    assert_eq!(call.params[0], Value::Array(doubles.map(Value::Double).to_vec()));
    let members = BTreeMap::from([
        ("a".to_owned(), Value::Int(1)),
        ("b <&>".to_owned(), Value::from("x<&>\"'\r\n]]>")),
        ("bin".to_owned(), Value::Binary(vec![b'a'; 120])),
        ("d".to_owned(), Value::DateTime("  980617T00:00:00".to_owned())),
        ("e".to_owned(), Value::Array(Vec::new())),
        ("t".to_owned(), Value::Bool(true)),
    ]);
    assert_eq!(call.params[1], Value::Struct(members));
}

#[test]
fn roscpp_answers_are_decoded() {
    let topic = decode_response(body(vectors::ROSCPP_TOPIC_ANSWER)).expect("an answer").expect("no fault");
    let address = Value::Array(vec!["TCPROS".into(), "127.0.0.1".into(), 46597.into()]);
    assert_eq!(topic, Value::Array(vec![1.into(), "".into(), address]));
    let stats = decode_response(body(vectors::ROSCPP_BUS_STATS)).expect("an answer").expect("no fault");
    assert_eq!(stats.as_array().map(<[Value]>::len), Some(2));
    let fault = decode_response(body(vectors::ROSCPP_FAULT)).expect("an answer").expect_err("a fault");
    assert_eq!(fault, Fault { code: -1, message: "nosuch: unknown method name".to_owned() });
}

#[test]
fn python_calls_are_decoded() {
    let call = decode_call(body(vectors::PYTHON_SET_PARAM)).expect("a call");
    assert_eq!((call.method.as_str(), call.params.len()), ("setParam", 3));
    let Value::Struct(members) = &call.params[2] else { panic!("a struct") };
    assert_eq!(members["b"], Value::Array(vec![1.5.into(), true.into(), "x<&>\"'".into(), "".into()]));
    assert_eq!(members["c"], Value::Binary(b"abc".repeat(40)));
    assert_eq!(members["d"], Value::Struct(BTreeMap::new()));
    assert_eq!(members["e"], Value::Double(0.1 + 0.2));
    assert_eq!(members["f"], Value::from("\u{e9}\n\t"));
    let multicall = decode_call(body(vectors::PYTHON_MULTICALL)).expect("a call");
    assert_eq!(multicall.method, "system.multicall");
    assert_eq!(multicall.params[0].as_array().map(<[Value]>::len), Some(2));
}

#[test]
fn python_answers_are_decoded() {
    let answer = decode_response(body(vectors::PYTHON_REGISTERED)).expect("an answer").expect("no fault");
    let text = "Registered [/rosout] as publisher of [/rosout_agg]";
    assert_eq!(answer, Value::Array(vec![1.into(), text.into(), Value::Array(Vec::new())]));
    let fault = decode_response(body(vectors::PYTHON_FAULT)).expect("an answer").expect_err("a fault");
    assert_eq!(fault.code, 1);
    assert_eq!(fault.message, "<class 'Exception'>:method \"nosuch\" is not supported");
}

#[test]
fn call_without_params_is_decoded() {
    let call = decode_call(b"<methodCall><methodName> getPid\n</methodName></methodCall>").expect("a call");
    assert_eq!(call, Call { method: "getPid".to_owned(), params: Vec::new() });
    let call = decode_call(b"<methodCall><methodName>a</methodName><params/></methodCall>").expect("a call");
    assert!(call.params.is_empty());
}

#[test]
fn untyped_text_keeps_its_white_space() {
    for (inside, text) in [
        ("<value>a b</value>", "a b"),
        ("<value> a </value>", " a "),
        ("<value>  </value>", "  "),
        ("<value/>", ""),
        ("<value><string/></value>", ""),
        ("<value>\n <string> a </string>\n</value>", " a "),
        ("<value><![CDATA[<a>&amp;]]></value>", "<a>&amp;"),
        ("<value>a<!-- no -->b<![CDATA[c]]>&#100;&#x65;&lt;&gt;&amp;&quot;&apos;</value>", "abcde<>&\"'"),
        ("<value>a\r\nb</value>", "a\r\nb"),
    ] {
        assert_eq!(value(inside), Ok(Value::from(text)), "{inside}");
    }
}

#[test]
fn byte_order_mark_and_attributes_are_ignored() {
    let document = "\u{feff}<?xml version=\"1.0\" encoding=\"utf-8\"?><?pi x?><methodCall a=\"b\"><methodName>\u{e9}\
        </methodName></methodCall>\r\n";
    assert_eq!(decode_call(document.as_bytes()).expect("a call").method, "\u{e9}");
}

#[test]
fn numbers_may_have_white_space_around_them() {
    assert_eq!(value("<value><i4> -2147483648 </i4></value>"), Ok(Value::Int(i32::MIN)));
    assert_eq!(value("<value><int>+5</int></value>"), Ok(Value::Int(5)));
    assert_eq!(value("<value><i8>5</i8></value>"), Ok(Value::Int(5)));
    assert_eq!(value("<value><double>\n1e3</double></value>"), Ok(Value::Double(1000.0)));
    assert_eq!(value("<value><double>-inf</double></value>"), Ok(Value::Double(f64::NEG_INFINITY)));
    assert_eq!(value("<value><boolean> 0 </boolean></value>"), Ok(Value::Bool(false)));
}

#[test]
fn integers_beyond_32_bits_are_refused() {
    for text in ["2147483648", "-2147483649", "99999999999999999999"] {
        let found = problem(&format!("<value><i4>{text}</i4></value>"));
        assert_eq!(found, DecodeProblem::IntegerRange(text.to_owned()));
    }
}

#[test]
fn texts_of_wrong_type_are_refused() {
    for inside in
        ["<i4></i4>", "<i4>1.5</i4>", "<boolean>true</boolean>", "<double>1,5</double>", "<base64>*</base64>"]
    {
        let found = problem(&format!("<value>{inside}</value>"));
        assert!(matches!(found, DecodeProblem::BadText(_)), "{inside}: {found}");
    }
}

#[test]
fn nil_and_unknown_elements_are_refused() {
    assert_eq!(problem("<value><nil/></value>"), DecodeProblem::Nil);
    assert_eq!(problem("<value><ex:nil/></value>"), DecodeProblem::Nil);
    assert_eq!(problem("<value><float>1</float></value>"), DecodeProblem::UnknownElement("float".to_owned()));
}

#[test]
fn misplaced_elements_are_refused() {
    for inside in [
        "",
        "<param/>",
        "<value><array/></value>",
        "<value><array><value/></array></value>",
        "<value><struct><name>a</name></struct></value>",
        "<value><struct><member><value/></member></struct></value>",
        "<value><struct><member><name>a</name></member></struct></value>",
        "<value><name>a</name></value>",
        "<value><string><i4>1</i4></string></value>",
        "<value/><value/>",
        "<value><i4>1</i4><i4>2</i4></value>",
        "<value><array><data/><data/></array></value>",
        "</param>",
        "<value><i4>1</i4>",
    ] {
        assert!(value(inside).is_err(), "{inside}");
    }
    assert!(matches!(problem("<value>a<i4>1</i4></value>"), DecodeProblem::StrayText(_)));
    assert!(matches!(problem("<value><i4>1</i4>a</value>"), DecodeProblem::StrayText(_)));
}

#[test]
fn malformed_documents_are_refused() {
    for document in
        ["", "   ", "abcd", "<", "<methodCall>", "<methodResponse/>", "<a/>", "<methodCall></a>", "&", "<!--"]
    {
        assert!(decode_call(document.as_bytes()).is_err(), "{document}");
        assert!(decode_response(document.as_bytes()).is_err(), "{document}");
    }
    call_error("<methodCall><methodName>a</methodName></methodCall><methodCall/>");
    call_error("<methodCall><methodName>a</methodName></methodCall>text");
}

#[test]
fn decode_error_names_method_element_and_byte() {
    let document = "<methodCall><methodName>setParam</methodName><params><param><value><i4>x</i4></value></param>\
        </params></methodCall>";
    let error = call_error(document);
    assert_eq!(error.offset, document.find("x</i4>").expect("it is in the document"));
    assert_eq!(
        error.to_string(),
        format!("call of setParam: byte {} in <i4>: \"x\" is not a value of this type", error.offset)
    );
    assert_eq!(
        call_error("<methodCall><params/>").to_string(),
        "byte 12 in <methodCall>: found <params> instead of <methodName>"
    );
}

#[test]
fn document_type_definition_is_refused_immediately() {
    let document =
        "<!DOCTYPE a [<!ENTITY b \"bbbb\"><!ENTITY c \"&b;&b;\">]><methodCall><methodName>&c;</methodName>";
    assert_eq!(call_error(document).problem, DecodeProblem::DocumentType);
    assert_eq!(problem("<value>&c;</value>"), DecodeProblem::Entity("c".to_owned()));
    assert_eq!(problem("<value>&#xD800;</value>"), DecodeProblem::Entity("#xD800".to_owned()));
}

#[test]
fn forbidden_characters_are_refused_even_escaped() {
    assert_eq!(problem("<value>&#7;</value>"), DecodeProblem::Character('\u{7}'));
    let error = value("<value>abc\u{1}</value>").expect_err("refused");
    assert_eq!(error.problem, DecodeProblem::Character('\u{1}'));
    assert_eq!(error.offset, "<methodResponse><params><param><value>abc".len());
}

#[test]
fn other_encodings_must_be_ascii() {
    let latin = b"<methodCall><methodName>\xe9</methodName></methodCall>";
    let error = decode_call(latin).expect_err("refused");
    assert_eq!((error.offset, error.problem), (24, DecodeProblem::NotUtf8));
    let declared = |name| {
        format!(
            "<?xml version='1.0' encoding='ISO-8859-1'?><methodCall><methodName>{name}</methodName></methodCall>"
        )
    };
    assert_eq!(decode_call(declared("a").as_bytes()).expect("a call").method, "a");
    assert_eq!(call_error(&declared("\u{e9}")).problem, DecodeProblem::Encoding("ISO-8859-1".to_owned()));
}

#[test]
fn too_deeply_nested_values_are_refused() {
    let nest = |depth: usize| {
        let open = "<value><array><data>".repeat(depth - 1);
        format!("{open}<value/>{}", "</data></array></value>".repeat(depth - 1))
    };
    assert!(value(&nest(MAX_DEPTH)).is_ok());
    assert_eq!(problem(&nest(MAX_DEPTH + 1)), DecodeProblem::TooDeep);
    assert_eq!(problem(&"<value><array><data>".repeat(100_000)), DecodeProblem::TooDeep);
}

#[test]
fn too_many_values_are_refused() {
    let after = |values: usize| {
        let document =
            b"<methodCall><methodName>a</methodName><params><param><value><array><data><value/><value/>\
            </data></array></value></param></params></methodCall>";
        let mut parser = Parser::new(document).expect("text");
        parser.values = values;
        parser.call()
    };
    assert!(after(MAX_VALUES - 3).is_ok());
    assert_eq!(after(MAX_VALUES - 2).expect_err("refused").problem, DecodeProblem::TooManyValues);
}

#[test]
fn later_member_of_same_name_wins() {
    let member = |number| format!("<member><name>a</name><value><i4>{number}</i4></value></member>");
    let read = value(&format!("<value><struct>{}{}</struct></value>", member(1), member(2)));
    assert_eq!(read, Ok(Value::Struct(BTreeMap::from([("a".to_owned(), Value::Int(2))]))));
}

#[test]
fn fault_needs_code_and_text() {
    let document = "<methodResponse><fault><value><struct><member><name>faultCode</name><value><i4>1</i4></value>\
        </member></struct></value></fault></methodResponse>";
    assert_eq!(decode_response(document.as_bytes()).expect_err("refused").problem, DecodeProblem::BadFault);
}

/// Texts that XML can hold, markup included.
fn text() -> impl Strategy<Value = String> {
    let ch = prop_oneof![
        any::<char>(),
        proptest::char::range(' ', '~'),
        Just('\r'),
        Just('\n'),
        Just('<'),
        Just(']')
    ];
    proptest::collection::vec(ch.prop_filter("XML holds it", |ch| crate::xmlrpc::is_xml_char(*ch)), 0..12)
        .prop_map(String::from_iter)
}

/// Values of every type except NaN, which equals nothing.
fn values() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        any::<i32>().prop_map(Value::Int),
        any::<bool>().prop_map(Value::Bool),
        text().prop_map(Value::String),
        any::<u64>()
            .prop_map(f64::from_bits)
            .prop_filter("a number", |n| !n.is_nan())
            .prop_map(Value::Double),
        text().prop_map(Value::DateTime),
        proptest::collection::vec(any::<u8>(), 0..90).prop_map(Value::Binary),
    ];
    leaf.prop_recursive(5, 40, 6, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..6).prop_map(Value::Array),
            proptest::collection::btree_map(text(), inner, 0..6).prop_map(Value::Struct),
        ]
    })
}

/// Documents of tags and texts in random order.
fn random_markup() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        proptest::sample::select(vec![
            "<methodCall>",
            "<methodName>",
            "</methodName>",
            "<methodResponse>",
            "<params>",
            "<param>",
            "<value>",
            "</value>",
            "<array><data>",
            "</data></array>",
            "<struct>",
            "<member>",
            "<name>",
            "</name>",
            "<i4>",
            "</i4>",
            "<base64>",
            "<fault>",
            "<![CDATA[",
            "]]>",
            "<!--",
            "-->",
            "<!-->",
            "<!",
            "<?xml",
            "<?",
            "?>",
            "<!DOCTYPE",
            "&",
            "&lt;",
            "&#",
            "&#x41;",
            ";",
            "<",
            ">",
            "/",
            "/>",
            "=\"",
            "'",
            " ",
            "\u{e9}",
            "1",
            "\0",
        ])
        .prop_map(str::to_owned),
        any::<String>(),
    ];
    proptest::collection::vec(part, 0..40).prop_map(|parts| parts.concat())
}

proptest! {
    #[test]
    fn encoded_call_decodes_to_same(method in text(), params in proptest::collection::vec(values(), 0..4)) {
        let call = decode_call(&encode_call(&method, &params).expect("encodes")).expect("decodes");
        prop_assert_eq!(call, Call { method: method.trim().to_owned(), params });
    }

    #[test]
    fn encoded_answer_decodes_to_same(value in values(), code: i32, message in text()) {
        for answer in [Ok(value), Err(Fault { code, message })] {
            let body = encode_response(&answer).expect("encodes");
            prop_assert_eq!(decode_response(&body).expect("decodes"), answer);
        }
    }

    #[test]
    fn random_bytes_never_panic(bytes: Vec<u8>) {
        let _ = (decode_call(&bytes), decode_response(&bytes));
    }

    #[test]
    fn decoded_random_markup_can_be_encoded(document in random_markup()) {
        if let Ok(call) = decode_call(document.as_bytes()) {
            prop_assert!(encode_call(&call.method, &call.params).is_ok());
        }
        let _ = decode_response(document.as_bytes());
    }

    #[test]
    fn damaged_document_never_panics_nor_partly_decodes(at: prop::sample::Index, byte: u8) {
        for document in [vectors::PYTHON_SET_PARAM, vectors::ROSCPP_VALUES] {
            let whole = body(document).trim_ascii_end();
            let at = at.index(whole.len());
            let mut damaged = whole.to_vec();
            damaged[at] = byte;
            let _ = decode_call(&damaged);
            prop_assert!(decode_call(&whole[..at]).is_err());
        }
    }
}
