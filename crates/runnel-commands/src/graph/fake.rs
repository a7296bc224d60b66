//! For tests: a master, or a node, that answers as it is told to and then is gone.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::thread;

use runnel::ros1::http;
use runnel::ros1::xmlrpc::{Value, encode_response};
use runnel::{Context, ContextOptions};

/// The address of a server that gives each of the answers to one call. Where there is none, it hangs up.
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
                // Whoever asked may be gone.
                let _ = stream.write_all(&http::response(&body, false));
            }
        }
    });
    uri
}

/// A context that takes such a server for its master.
pub fn context(answers: Vec<Option<Value>>) -> Context {
    let arguments = [format!("__master:={}", server(answers))];
    Context::with_options(ContextOptions::default().arguments(arguments)).expect("a context")
}

/// The answer that grants what was asked.
pub fn granted(value: impl Into<Value>) -> Value {
    Value::Array(vec![1.into(), "".into(), value.into()])
}

/// The answer that refuses it.
pub fn refused(why: &str) -> Value {
    Value::Array(vec![(-1).into(), why.into(), 0.into()])
}
