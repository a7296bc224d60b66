//! A master that is also every node. All its answers hold control characters.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;

/// The address of the server.
pub struct HostileRos1 {
    pub uri: String,
}

/// A value of an XML-RPC answer.
enum Value {
    Int(i32),
    Bool(bool),
    Text(String),
    List(Vec<Value>),
    Map(Vec<(String, Value)>),
}
use Value::{Bool, Int, List, Map, Text};

impl HostileRos1 {
    /// Starts a server whose texts hold `evil`.
    pub fn start(evil: &str) -> Self {
        let links = TcpListener::bind("127.0.0.1:0").expect("a port");
        let link_port = links.local_addr().expect("an address").port();
        let calls = TcpListener::bind("127.0.0.1:0").expect("a port");
        let uri = format!("http://{}/", calls.local_addr().expect("an address"));
        let server = Server { evil: evil.to_owned(), uri: uri.clone(), link_port };
        let linked = server.clone();
        thread::spawn(move || serve(&calls, move |stream| server.calls(stream)));
        thread::spawn(move || serve(&links, move |stream| linked.link(stream)));
        Self { uri }
    }
}

fn serve(
    listener: &TcpListener,
    serve_one: impl Fn(TcpStream) -> std::io::Result<()> + Clone + Send + 'static,
) {
    for stream in listener.incoming().flatten() {
        let serve_one = serve_one.clone();
        // The caller may have closed the connection.
        thread::spawn(move || drop(serve_one(stream)));
    }
}

#[derive(Clone)]
struct Server {
    evil: String,
    uri: String,
    link_port: u16,
}

impl Server {
    /// Answers the calls of one connection.
    fn calls(&self, mut stream: TcpStream) -> std::io::Result<()> {
        let mut bytes = Vec::new();
        loop {
            while !contains(&bytes, b"</methodCall>") {
                let mut some = [0; 4096];
                match stream.read(&mut some)? {
                    0 => return Ok(()),
                    count => bytes.extend(&some[..count]),
                }
            }
            let call = String::from_utf8_lossy(&std::mem::take(&mut bytes)).into_owned();
            let method = between(&call, "<methodName>", "</methodName>");
            let argument = call.rmatches("/t").next().is_some();
            let answer = List(vec![Int(1), Text(self.evil.clone()), self.value(&method, argument, &call)]);
            let answer = if method.starts_with("set") || method.starts_with("delete") {
                List(vec![Int(-1), Text(self.evil.clone()), Int(0)])
            } else {
                answer
            };
            let mut body = "<?xml version=\"1.0\"?><methodResponse><params><param>".to_owned();
            write_xml(&answer, &mut body);
            body += "</param></params></methodResponse>";
            write!(stream, "HTTP/1.1 200 OK\r\nContent-length: {}\r\n\r\n{body}", body.len())?;
        }
    }

    fn value(&self, method: &str, _topic: bool, call: &str) -> Value {
        let text = |text: &str| Text(text.to_owned());
        let with_evil = |text: &str| Text(format!("{text}{}", self.evil));
        let nodes = || List(vec![text("/n"), with_evil("/n")]);
        let holders = |names: &[&str]| {
            List(
                names
                    .iter()
                    .flat_map(|name| [text(name), with_evil(name)])
                    .map(|name| List(vec![name, nodes()]))
                    .collect(),
            )
        };
        match method {
            "getPid" => Int(7),
            "getUri" => with_evil(&self.uri),
            "getSystemState" => {
                let topics =
                    ["/t", "/rosout", "/a/goal", "/a/cancel", "/a/status", "/a/feedback", "/a/result"];
                List(vec![holders(&topics), holders(&topics), holders(&["/s", "/n/get_loggers"])])
            }
            "getTopicTypes" | "getPublishedTopics" => List(vec![
                List(vec![text("/t"), text("std_msgs/String")]),
                List(vec![with_evil("/t"), with_evil("std_msgs/")]),
                List(vec![text("/a/goal"), with_evil("x/YActionGoal")]),
                List(vec![text("/rosout"), text("rosgraph_msgs/Log")]),
            ]),
            "lookupNode" if call.contains(&format!(">/n{}", first_of(&self.evil))) => with_evil("http://"),
            "lookupNode" => Text(self.uri.clone()),
            "lookupService" => Text(format!("rosrpc://127.0.0.1:{}", self.link_port)),
            "registerSubscriber" => List(vec![Text(self.uri.clone()), with_evil("http://127.0.0.1:9/")]),
            "requestTopic" => List(vec![text("TCPROS"), text("127.0.0.1"), Int(i32::from(self.link_port))]),
            "getParamNames" => List(vec![text("/p"), with_evil("/p")]),
            "hasParam" => Bool(true),
            "getParam" | "subscribeParam" => Map(vec![
                ("plain".into(), with_evil("")),
                (
                    format!("key{}", self.evil),
                    List(vec![with_evil(""), Map(vec![("x".into(), with_evil(""))])]),
                ),
            ]),
            "getBusInfo" => {
                let row = |direction: &str| {
                    let details = format!("TCPROS connection on port 1 to [{} on socket 1]", self.evil);
                    List(vec![
                        Int(1),
                        with_evil("/n"),
                        text(direction),
                        with_evil("TCPROS"),
                        text("/t"),
                        Bool(true),
                        Text(details),
                    ])
                };
                List(vec![row("i"), row("o"), row(&self.evil)])
            }
            "registerPublisher" => List(vec![]),
            _ => Int(0),
        }
    }

    /// Answers on a connection of a topic or a service.
    fn link(&self, mut stream: TcpStream) -> std::io::Result<()> {
        let header = read_frame(&mut stream)?;
        let header = String::from_utf8_lossy(&header).into_owned();
        let evil = self.evil.as_str();
        if header.contains("service=") {
            let name = format!("/n{evil}");
            let kind = format!("std_srvs/{}", if header.contains("/s2") { evil } else { "Empty" });
            let fields = [
                ("callerid", &*name),
                ("md5sum", "d41d8cd98f00b204e9800998ecf8427e"),
                ("type", &*kind),
                ("request_type", evil),
                ("response_type", evil),
            ];
            stream.write_all(&framed(
                &fields.map(|(key, value)| framed(format!("{key}={value}").as_bytes())).concat(),
            ))?;
            read_frame(&mut stream)?;
            stream.write_all(&[&[0][..], &framed(evil.as_bytes())].concat())?;
            return Ok(());
        }
        let is_log = header.contains("topic=/rosout");
        let (kind, sum, definition) = if is_log {
            let definition = "byte DEBUG=1\nbyte INFO=2\nbyte WARN=4\nbyte ERROR=8\nbyte FATAL=16\nHeader header\nbyte level\nstring name\nstring msg\nstring file\nstring function\nuint32 line\nstring[] topics\n================================================================================\nMSG: std_msgs/Header\nuint32 seq\ntime stamp\nstring frame_id\n";
            ("rosgraph_msgs/Log", "acffd30cd6b6de30f120938c17c593fb", definition)
        } else {
            ("std_msgs/String", "992ce8a1687cec8c8bd883ec73ca41d1", "string data\n")
        };
        let name = format!("/n{evil}");
        let fields = [
            ("callerid", &*name),
            ("md5sum", sum),
            ("type", kind),
            ("message_definition", definition),
            ("latching", "1"),
        ];
        stream.write_all(&framed(
            &fields.map(|(key, value)| framed(format!("{key}={value}").as_bytes())).concat(),
        ))?;
        loop {
            let text = framed(evil.as_bytes());
            let message = if is_log {
                let head = [
                    &[0; 12][..],
                    &text,
                    &[8],
                    &text,
                    &text,
                    &text,
                    &text,
                    &[1, 0, 0, 0],
                    &[1, 0, 0, 0],
                    &text,
                ];
                framed(&head.concat())
            } else {
                framed(&text)
            };
            stream.write_all(&message)?;
            thread::sleep(std::time::Duration::from_millis(50));
        }
    }
}

fn first_of(evil: &str) -> char {
    evil.chars().next().expect("it is not empty")
}

fn contains(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}

fn between(text: &str, start: &str, end: &str) -> String {
    let rest = text.split_once(start).map_or("", |(_, rest)| rest);
    rest.split_once(end).map_or("", |(inner, _)| inner).to_owned()
}

fn framed(bytes: &[u8]) -> Vec<u8> {
    [&u32::try_from(bytes.len()).expect("short").to_le_bytes(), bytes].concat()
}

fn read_frame(stream: &mut TcpStream) -> std::io::Result<Vec<u8>> {
    let mut length = [0; 4];
    stream.read_exact(&mut length)?;
    let mut bytes = vec![0; u32::from_le_bytes(length) as usize];
    stream.read_exact(&mut bytes)?;
    Ok(bytes)
}

fn write_xml(value: &Value, out: &mut String) {
    *out += "<value>";
    match value {
        Int(number) => *out += &format!("<int>{number}</int>"),
        Bool(truth) => *out += &format!("<boolean>{}</boolean>", u8::from(*truth)),
        Text(text) => *out += &format!("<string>{}</string>", escaped(text)),
        List(list) => {
            *out += "<array><data>";
            list.iter().for_each(|value| write_xml(value, out));
            *out += "</data></array>";
        }
        Map(members) => {
            *out += "<struct>";
            for (name, value) in members {
                *out += &format!("<member><name>{}</name>", escaped(name));
                write_xml(value, out);
                *out += "</member>";
            }
            *out += "</struct>";
        }
    }
    *out += "</value>";
}

/// Escaped for XML, except the characters that XML forbids.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('\r', "&#13;")
}
