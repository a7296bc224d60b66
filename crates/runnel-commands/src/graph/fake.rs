//! For tests: a master or node with prepared answers, which then ends.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::thread;

use runnel::{Context, ContextOptions};
use runnel_ros1::http;
use runnel_ros1::xmlrpc::{Value, encode_response};

/// The address of a server that gives each answer to one call. For `None` it closes the connection.
pub fn server(answers: Vec<Option<Value>>) -> String {
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port of loopback");
    let uri = format!("http://{}/", listener.local_addr().expect("it has an address"));
    thread::spawn(move || {
        for answer in answers {
            let (mut stream, _) = listener.accept().expect("somebody connects");
            let mut call = Vec::new();
            while !String::from_utf8_lossy(&call).contains("</methodCall>") {
                let mut some = [0; 4096];
                let count = stream.read(&mut some).expect("somebody calls");
                assert!(count > 0, "the call ends early");
                call.extend(&some[..count]);
            }
            if let Some(value) = answer {
                let body = encode_response(&Ok(value)).expect("it can be written");
                // The caller may have closed the connection.
                let _ = stream.write_all(&http::response(&body, false));
            }
        }
    });
    uri
}

/// A context with such a server as its master.
pub fn context(answers: Vec<Option<Value>>) -> Context {
    let arguments = [format!("__master:={}", server(answers))];
    Context::with_options(ContextOptions::default().arguments(arguments)).expect("a context")
}

/// A successful answer.
pub fn granted(value: impl Into<Value>) -> Value {
    Value::Array(vec![1.into(), "".into(), value.into()])
}

/// A failing answer.
pub fn refused(why: &str) -> Value {
    Value::Array(vec![(-1).into(), why.into(), 0.into()])
}
