//! HTTP messages recorded from ros_comm 1.15.15, Python 3.11 and node.js 20 on the loopback interface.

/// The body of a message.
pub(crate) fn body(message: &[u8]) -> &[u8] {
    let head = message.windows(4).position(|four| four == b"\r\n\r\n").expect("a head");
    &message[head + 4..]
}

/// roscpp registers a publisher with the master.
pub(crate) const ROSCPP_REGISTER_PUBLISHER: &[u8] =
    b"POST / HTTP/1.1\r\nUser-Agent: XMLRPC++ 0.7\r\nHost: 127.0.0.1:11311\r\n\
    Content-Type: text/xml\r\nContent-length: 289\r\n\r\n<?xml version=\"1.0\"?>\r\n\
    <methodCall><methodName>registerPublisher</methodName>\r\n\
    <params><param><value>/rosout</value></param><param><value>/rosout_agg</value></param>\
    <param><value>rosgraph_msgs/Log</value></param><param><value>http://127.0.0.1:43339/\
    </value></param></params></methodCall>\r\n";

/// The XML-RPC client of roscpp sends doubles, bytes, a date, escapes and an empty array.
pub(crate) const ROSCPP_VALUES: &[u8] =
    b"POST / HTTP/1.1\r\nUser-Agent: XMLRPC++ 0.7\r\nHost: 127.0.0.1:9000\r\n\
    Content-Type: text/xml\r\nContent-length: 1469\r\n\r\n<?xml version=\"1.0\"?>\r\n\
    <methodCall><methodName>echo</methodName>\r\n<params><param><value><array><data>\
    <value><double>1.5</double></value><value><double>0.10000000000000001</double></value>\
    <value><double>0.30000000000000004</double></value><value><double>1.0000000000000001e+300\
    </double></value><value><double>-0</double></value><value><double>0</double></value>\
    <value><double>9.9999999999999995e-08</double></value><value><double>1.2345678901234568e+17\
    </double></value><value><double>10000000000000000</double></value><value><double>1000000000000000\
    </double></value><value><double>70368744177664.125</double></value><value><double>4.9406564584124654\
    e-324</double></value><value><double>0.0001</double></value><value><double>1.234e-05\
    </double></value></data></array></value></param><param><value><struct><member><name>a\
    </name><value><i4>1</i4></value></member><member><name>b &lt;&amp;&gt;</name><value>x&lt;&amp;&gt;&q\
    uot;&apos;\r\n]]&gt;</value></member><member><name>bin</name><value><base64>YWFhYWFhYWFhYWFhYWFhYWFh\
    YWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFh\nYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYW\
    FhYWFhYWFhYWFhYWFhYWFh\nYWFhYWFhYWFhYWFh\n</base64></value></member><member><name>d\
    </name><value><dateTime.iso8601>  980617T00:00:00</dateTime.iso8601></value></member>\
    <member><name>e</name><value><array><data></data></array></value></member><member>\
    <name>t</name><value><boolean>1</boolean></value></member></struct></value></param>\
    </params></methodCall>\r\n";

/// roscpp answers `requestTopic`.
pub(crate) const ROSCPP_TOPIC_ANSWER: &[u8] =
    b"HTTP/1.1 200 OK\r\nServer: XMLRPC++ 0.7\r\nContent-Type: text/xml\r\n\
    Content-length: 295\r\n\r\n<?xml version=\"1.0\"?>\r\n<methodResponse><params><param>\r\n\t\
    <value><array><data><value><i4>1</i4></value><value></value><value><array><data>\
    <value>TCPROS</value><value>127.0.0.1</value><value><i4>46597</i4></value></data>\
    </array></value></data></array></value>\r\n</param></params></methodResponse>\r\n";

/// roscpp answers `getBusStats`: valid XML-RPC without the status code of the slave API.
pub(crate) const ROSCPP_BUS_STATS: &[u8] =
    b"HTTP/1.1 200 OK\r\nServer: XMLRPC++ 0.7\r\nContent-Type: text/xml\r\n\
    Content-length: 444\r\n\r\n<?xml version=\"1.0\"?>\r\n<methodResponse><params><param>\r\n\t\
    <value><array><data><value><array><data><value><array><data><value>/rosout_agg</value>\
    <value><array><data></data></array></value></data></array></value></data></array>\
    </value><value><array><data><value><array><data><value>/rosout</value><value><array>\
    <data></data></array></value></data></array></value></data></array></value></data>\
    </array></value>\r\n</param></params></methodResponse>\r\n";

/// roscpp answers a call of an unknown method.
pub(crate) const ROSCPP_FAULT: &[u8] =
    b"HTTP/1.1 200 OK\r\nServer: XMLRPC++ 0.7\r\nContent-Type: text/xml\r\n\
    Content-length: 258\r\n\r\n<?xml version=\"1.0\"?>\r\n<methodResponse><fault>\r\n\t\
    <value><struct><member><name>faultCode</name><value><i4>-1</i4></value></member>\
    <member><name>faultString</name><value>nosuch: unknown method name</value></member>\
    </struct></value>\r\n</fault></methodResponse>\r\n";

/// Python calls `getPid`.
pub(crate) const PYTHON_GET_PID: &[u8] =
    b"POST /RPC2 HTTP/1.1\r\nHost: 127.0.0.1:11400\r\nAccept-Encoding: gzip\r\n\
    Content-Type: text/xml\r\nUser-Agent: Python-xmlrpc/3.11\r\n\
    Content-Length: 152\r\n\r\n<?xml version='1.0'?>\n<methodCall>\n\
    <methodName>getPid</methodName>\n<params>\n<param>\n<value><string>/x</string></value>\n\
    </param>\n</params>\n</methodCall>\n";

/// Python sets a parameter of every type.
pub(crate) const PYTHON_SET_PARAM: &[u8] =
    b"POST / HTTP/1.1\r\nHost: 127.0.0.1:11311\r\nAccept-Encoding: gzip\r\n\
    Content-Type: text/xml\r\nUser-Agent: Python-xmlrpc/3.11\r\n\
    Content-Length: 1008\r\n\r\n<?xml version='1.0'?>\n<methodCall>\n\
    <methodName>setParam</methodName>\n<params>\n<param>\n<value><string>/x</string>\
    </value>\n</param>\n<param>\n<value><string>/p</string></value>\n\
    </param>\n<param>\n<value><struct>\n<member>\n<name>a</name>\n\
    <value><int>1</int></value>\n</member>\n<member>\n<name>b</name>\n\
    <value><array><data>\n<value><double>1.5</double></value>\n\
    <value><boolean>1</boolean></value>\n<value><string>x&lt;&amp;&gt;\"'</string></value>\n\
    <value><string></string></value>\n</data></array></value>\n\
    </member>\n<member>\n<name>c</name>\n<value><base64>\nYWJjYWJjYWJjYWJjYWJjYWJjYWJjYWJjYWJjYWJjYWJjYW\
    JjYWJjYWJjYWJjYWJjYWJjYWJjYWJj\nYWJjYWJjYWJjYWJjYWJjYWJjYWJjYWJjYWJjYWJjYWJjYWJjYWJjYWJjYWJjYWJjYWJj\
    YWJjYWJj\nYWJjYWJj\n</base64></value>\n</member>\n<member>\n\
    <name>d</name>\n<value><struct>\n</struct></value>\n</member>\n\
    <member>\n<name>e</name>\n<value><double>0.30000000000000004</double></value>\n\
    </member>\n<member>\n<name>f</name>\n<value><string>\xc3\xa9\n\t</string></value>\n\
    </member>\n</struct></value>\n</param>\n</params>\n</methodCall>\n";

/// Python calls two methods in one request.
pub(crate) const PYTHON_MULTICALL: &[u8] =
    b"POST / HTTP/1.1\r\nHost: 127.0.0.1:11311\r\nAccept-Encoding: gzip\r\n\
    Content-Type: text/xml\r\nUser-Agent: Python-xmlrpc/3.11\r\n\
    Content-Length: 682\r\n\r\n<?xml version='1.0'?>\n<methodCall>\n\
    <methodName>system.multicall</methodName>\n<params>\n<param>\n\
    <value><array><data>\n<value><struct>\n<member>\n<name>methodName</name>\n\
    <value><string>getPid</string></value>\n</member>\n<member>\n\
    <name>params</name>\n<value><array><data>\n<value><string>/x</string></value>\n\
    </data></array></value>\n</member>\n</struct></value>\n<value><struct>\n\
    <member>\n<name>methodName</name>\n<value><string>deleteParam</string></value>\n\
    </member>\n<member>\n<name>params</name>\n<value><array><data>\n\
    <value><string>/x</string></value>\n<value><string>/p</string></value>\n\
    </data></array></value>\n</member>\n</struct></value>\n</data></array></value>\n\
    </param>\n</params>\n</methodCall>\n";

/// The Python master answers `registerPublisher`.
pub(crate) const PYTHON_REGISTERED: &[u8] = b"HTTP/1.1 200 OK\r\nServer: BaseHTTP/0.6 Python/3.11.2\r\n\
    Date: Sat, 21 Nov 2026 04:27:37 GMT\r\nContent-type: text/xml\r\n\
    Content-length: 294\r\n\r\n<?xml version='1.0'?>\n<methodResponse>\n\
    <params>\n<param>\n<value><array><data>\n<value><int>1</int></value>\n\
    <value><string>Registered [/rosout] as publisher of [/rosout_agg]</string></value>\n\
    <value><array><data>\n</data></array></value>\n</data></array></value>\n\
    </param>\n</params>\n</methodResponse>\n";

/// The Python master answers a call of an unknown method.
pub(crate) const PYTHON_FAULT: &[u8] = b"HTTP/1.1 200 OK\r\nServer: BaseHTTP/0.6 Python/3.11.2\r\n\
    Date: Sat, 21 Nov 2026 04:27:39 GMT\r\nContent-type: text/xml\r\n\
    Content-length: 313\r\n\r\n<?xml version='1.0'?>\n<methodResponse>\n\
    <fault>\n<value><struct>\n<member>\n<name>faultCode</name>\n\
    <value><int>1</int></value>\n</member>\n<member>\n<name>faultString</name>\n\
    <value><string>&lt;class 'Exception'&gt;:method \"nosuch\" is not supported</string>\
    </value>\n</member>\n</struct></value>\n</fault>\n</methodResponse>\n";

/// A server on node.js answers in chunks.
pub(crate) const NODE_CHUNKED: &[u8] =
    b"HTTP/1.1 200 OK\r\nContent-Type: text/xml\r\nDate: Sat, 21 Nov 2026 04:36:58 GMT\r\n\
    Connection: keep-alive\r\nKeep-Alive: timeout=5\r\nTransfer-Encoding: chunked\r\n\r\n\
    34\r\n<?xml version=\"1.0\"?><methodResponse><params><param>\r\n\
    3d\r\n<value><int>5</int></value></param></params></methodResponse>\r\n\
    0\r\n\r\n";
