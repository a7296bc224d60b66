//! Data in answers of the master and of nodes.

use runnel_ros1::xmlrpc::Value;

/// A connection of a node, from `getBusInfo`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Connection {
    /// The node's id of the connection.
    pub id: i32,
    /// The other end: a node name, or for an inbound connection the URI of the publisher's node.
    pub peer: String,
    /// `i` for inbound, `o` for outbound.
    pub direction: String,
    /// Such as `TCPROS`.
    pub transport: String,
    /// The topic.
    pub topic: String,
    /// False while it is being established.
    pub connected: bool,
    /// Such as `TCPROS connection on port 40001 to [127.0.0.1:50002 on socket 9]`; empty if absent.
    pub details: String,
}

/// Dropped messages of a node's link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Drops {
    /// The topic.
    pub topic: String,
    /// As [`Connection::direction`].
    pub direction: &'static str,
    /// The id of the connection.
    pub id: i32,
    /// Messages dropped since the connection was established.
    pub count: i64,
}

/// The status, the text and the value of an answer.
pub(super) fn parts(answer: Value) -> Option<(i32, String, Value)> {
    let Value::Array(parts) = answer else { return None };
    let [status, text, value] = <[Value; 3]>::try_from(parts).ok()?;
    Some((status.as_int()?, text.as_str().unwrap_or_default().to_owned(), value))
}

/// Reads `[[name, type], ..]`.
pub fn read_pairs(value: &Value) -> Option<Vec<(String, String)>> {
    let pair = |row: &Value| {
        let [name, value] = row.as_array()? else { return None };
        Some((text(name)?, text(value)?))
    };
    value.as_array()?.iter().map(pair).collect()
}

/// Reads the rows of bus info.
pub fn read_connections(info: &Value) -> Option<Vec<Connection>> {
    info.as_array()?.iter().map(read_connection).collect()
}

/// Reads the valid rows of bus info.
pub(super) fn known_connections(info: &Value) -> Vec<Connection> {
    info.as_array().unwrap_or_default().iter().filter_map(read_connection).collect()
}

/// Reads a row of bus info. Old nodes omit the last columns.
fn read_connection(row: &Value) -> Option<Connection> {
    let [id, peer, direction, transport, topic, rest @ ..] = row.as_array()? else { return None };
    let connected = match rest.first() {
        Some(Value::Bool(connected)) => *connected,
        Some(number) => number.as_int()? != 0,
        None => true,
    };
    Some(Connection {
        id: id.as_int().unwrap_or_default(),
        peer: text(peer)?,
        direction: text(direction)?,
        transport: text(transport)?,
        topic: text(topic)?,
        connected,
        details: rest.get(1).and_then(text).unwrap_or_default(),
    })
}

/// Sum of the drops of a topic's links in the answer to `getBusStats`; `None` if the node has no such link or does
/// not report them.
pub(super) fn dropped(stats: &Value, topic: &str, direction: &str) -> Option<i64> {
    let drops = read_drops(stats);
    let mut of_topic =
        drops.iter().filter(|link| link.topic == topic && link.direction == direction).peekable();
    of_topic.peek()?;
    Some(of_topic.map(|link| link.count).sum())
}

/// The drops of all links in the answer to `getBusStats`. Rows are `[topic, bytes, links]` for publications and
/// `[topic, links]` for subscriptions. Runnel's nodes put the drops into the fifth column of a link, which the
/// originals do not have. Other rows are skipped.
pub fn read_drops(stats: &Value) -> Vec<Drops> {
    let Some([publications, subscriptions, ..]) = stats.as_array() else { return Vec::new() };
    let of_side = |(rows, direction, links_at): (&Value, &'static str, usize)| {
        let rows = rows.as_array().unwrap_or_default().iter().filter_map(Value::as_array);
        rows.flat_map(|row| topic_drops(row, direction, links_at).unwrap_or_default()).collect::<Vec<_>>()
    };
    [(publications, "o", 2), (subscriptions, "i", 1)].into_iter().flat_map(of_side).collect()
}

/// `None` if a link does not report drops.
fn topic_drops(row: &[Value], direction: &'static str, links_at: usize) -> Option<Vec<Drops>> {
    let topic = row.first().and_then(text)?;
    let link = |link: &Value| {
        let link = link.as_array()?;
        let (id, count) = (link.first()?.as_int()?, i64::from(link.get(4)?.as_int()?));
        Some(Drops { topic: topic.clone(), direction, id, count })
    };
    row.get(links_at)?.as_array()?.iter().map(link).collect()
}

pub(super) fn text(value: &Value) -> Option<String> {
    value.as_str().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(values: Vec<Value>) -> Value {
        values.into()
    }

    #[test]
    fn malformed_answer_is_refused() {
        assert_eq!(parts(list(vec![1.into(), "".into()])), None);
        assert_eq!(parts("text".into()), None);
        assert_eq!(read_pairs(&list(vec![list(vec!["/t".into(), 1.into()])])), None);
        assert_eq!(read_connection(&list(vec![1.into(), "/a".into()])), None);
    }

    #[test]
    fn valid_rows_of_odd_bus_info_are_read() {
        let row = list(vec![1.into(), "/a".into(), "o".into(), "TCPROS".into(), "/t".into()]);
        assert_eq!(known_connections(&list(vec![row, 7.into(), list(vec![])])).len(), 1);
        for odd in [Value::from(""), 0.into(), list(vec!["".into()])] {
            assert_eq!(known_connections(&odd), []);
        }
    }

    #[test]
    fn connections_of_old_nodes_are_read() {
        let short = list(vec![1.into(), "/a".into(), "o".into(), "TCPROS".into(), "/t".into()]);
        let connection = read_connection(&short).expect("a connection");
        assert!(connection.connected && connection.details.is_empty());
    }

    #[test]
    fn drops_are_summed_over_links_of_a_topic() {
        let link = |drops: i32| list(vec![1.into(), 100.into(), 10.into(), true.into(), drops.into()]);
        let publication = list(vec!["/t".into(), 200.into(), list(vec![link(3), link(4)])]);
        let stats = list(vec![list(vec![publication]), list(vec![]), list(vec![])]);
        assert_eq!(dropped(&stats, "/t", "o"), Some(7));
        assert_eq!((dropped(&stats, "/t", "i"), dropped(&stats, "/u", "o")), (None, None));
        let silent = list(vec![1.into(), 100.into(), 10.into(), true.into()]);
        let original =
            list(vec![list(vec![list(vec!["/t".into(), 200.into(), list(vec![silent])])]), list(vec![])]);
        assert_eq!(dropped(&original, "/t", "o"), None);
        let received = list(vec![1.into(), 100.into(), 10.into(), true.into()]);
        let subscription = list(vec!["/t".into(), list(vec![received])]);
        let rospy = list(vec![list(vec![]), list(vec![subscription]), list(vec![])]);
        assert_eq!(dropped(&rospy, "/t", "i"), None, "it counts received messages");
        let subscription = list(vec!["/t".into(), list(vec![link(3)])]);
        let ours = list(vec![list(vec![]), list(vec![subscription]), list(vec![])]);
        let drops = Drops { topic: "/t".into(), direction: "i", id: 1, count: 3 };
        assert_eq!(read_drops(&ours), [drops]);
    }
}
