//! The topics that a bridge carries, or why it does not.

use std::collections::BTreeMap;
use std::time::Instant;

use runnel::bridge::bridge_node_name;
use runnel::core::schema::{Generation, Kind};
use runnel_bridge::decision::{BridgeId, Direction, Own, Verdict, decide};

use super::attempts::Attempts;
use super::carrier::Carrier;
use super::forward::Counts;
use super::graphs::Ends;
use super::report::{self, Row, State, WaitingRow};
use super::resources::{Carried, Resources};
use crate::actions::Action;
use crate::error::CliError;
use crate::graphs::is_hidden;
use crate::types::spelt;

/// Most topics whose counts are kept after their end.
const MOST_TOTALS: usize = 10_000;

type Key = (String, Direction);

/// See the module's documentation.
#[derive(Default)]
pub struct Topics {
    entries: BTreeMap<Key, Entry>,
    /// The ends of each topic when both graphs were read last.
    ends: BTreeMap<String, Ends>,
    /// Counts of carriers that have ended.
    totals: BTreeMap<Key, Counts>,
    attempts: Attempts<Key>,
}

/// One direction of a topic that has ends on both sides.
enum Entry {
    Carried(Box<Carrier>),
    OtherBridge(BridgeId),
    /// It cannot be carried as long as its ends are these.
    Refused {
        reason: String,
        ends: Box<Ends>,
    },
}

impl Topics {
    /// Decides about all topics, of which these are the ends.
    pub fn update(
        &mut self,
        resources: &mut Resources<'_>,
        ends: BTreeMap<String, Ends>,
    ) -> Result<(), CliError> {
        self.ends = ends;
        let gone = |(topic, _): &Key| !self.ends.contains_key(topic);
        let unneeded: Vec<_> = self.entries.keys().filter(|key| gone(key)).cloned().collect();
        for key in unneeded {
            self.end(resources, &key)?;
        }
        let keys: Vec<Key> = self.ends.keys().flat_map(|topic| with_directions(topic)).collect();
        keys.into_iter().try_for_each(|key| self.update_topic(resources, key))
    }

    /// Continues with topics whose types or subscribers are not known yet. Returns whether there are such topics.
    pub fn advance(&mut self, resources: &mut Resources<'_>) -> Result<bool, CliError> {
        let is_incomplete =
            |entry: &Entry| matches!(entry, Entry::Carried(carrier) if !carrier.is_complete());
        let incomplete = self.entries.iter().filter(|(_, entry)| is_incomplete(entry));
        let keys: Vec<Key> = incomplete.map(|(key, _)| key.clone()).collect();
        let is_any = !keys.is_empty();
        keys.into_iter().try_for_each(|key| self.advance_topic(resources, key))?;
        Ok(is_any)
    }

    /// Ends all topics.
    pub fn clear(&mut self) {
        self.entries.clear();
    }

    fn update_topic(&mut self, resources: &mut Resources<'_>, key: Key) -> Result<(), CliError> {
        let Some(ends) = self.ends.get(&key.0) else { return Ok(()) };
        let carries = matches!(self.entries.get(&key), Some(Entry::Carried(_)));
        let demand = resources.unsubscribed.demand(key.1);
        match decide(&ends.view, key.1, demand, Own { id: resources.id, carries }) {
            Verdict::NotNeeded => self.end(resources, &key),
            Verdict::CarriedBy(other) => {
                self.end(resources, &key)?;
                self.entries.insert(key, Entry::OtherBridge(other));
                Ok(())
            }
            Verdict::Carry => self.carry(resources, key),
        }
    }

    fn carry(&mut self, resources: &mut Resources<'_>, key: Key) -> Result<(), CliError> {
        let Some(ends) = self.ends.get(&key.0) else { return Ok(()) };
        match self.entries.get(&key) {
            Some(Entry::Carried(carrier)) if !carrier.is_outdated(resources, ends) => return Ok(()),
            Some(Entry::Carried(_)) => self.end(resources, &key)?,
            Some(Entry::Refused { ends: refused, .. }) => {
                if !self.attempts.is_due(&key, **refused != *ends, Instant::now()) {
                    return Ok(());
                }
                resources.reload_types();
            }
            _ => {}
        }
        let Some(ends) = self.ends.get(&key.0) else { return Ok(()) };
        match Carrier::new(resources, &key.0, key.1, ends) {
            Ok(carrier) => {
                self.entries.insert(key.clone(), Entry::Carried(Box::new(carrier)));
                self.advance_topic(resources, key)
            }
            Err(reason) => self.refuse(resources, key, reason),
        }
    }

    fn advance_topic(&mut self, resources: &mut Resources<'_>, key: Key) -> Result<(), CliError> {
        let Some(Entry::Carried(carrier)) = self.entries.get_mut(&key) else { return Ok(()) };
        let Some(ends) = self.ends.get(&key.0) else { return Ok(()) };
        match carrier.advance(resources, ends) {
            Ok(true) => resources.announce("carries", carried(&key)),
            Ok(false) => Ok(()),
            Err(reason) => self.refuse(resources, key, reason),
        }
    }

    fn refuse(&mut self, resources: &mut Resources<'_>, key: Key, reason: String) -> Result<(), CliError> {
        resources.warn_refused(carried(&key), &reason);
        self.end(resources, &key)?;
        self.attempts.refused(key.clone(), Instant::now());
        let ends = Box::new(self.ends.get(&key.0).cloned().unwrap_or_default());
        self.entries.insert(key, Entry::Refused { reason, ends });
        Ok(())
    }

    /// Ends what is done about a direction of a topic. Its counts stay.
    fn end(&mut self, resources: &Resources<'_>, key: &Key) -> Result<(), CliError> {
        let Some(Entry::Carried(carrier)) = self.entries.remove(key) else { return Ok(()) };
        let was_complete = carrier.is_complete();
        let counts = carrier.counts();
        if counts != Counts::default() && (self.totals.len() < MOST_TOTALS || self.totals.contains_key(key)) {
            let total = self.totals.entry(key.clone()).or_default();
            *total = total.plus(counts);
        }
        drop(carrier);
        if was_complete { resources.announce("ends", carried(key)) } else { Ok(()) }
    }

    /// The topics that wait for a subscriber.
    pub fn waiting(&self, actions: &BTreeMap<String, Action>) -> Vec<WaitingRow> {
        let mut rows = waiting(&self.ends, actions);
        let is_handled = |row: &WaitingRow| {
            self.entries.keys().any(|(topic, to)| *topic == row.topic && report::destination(*to) == row.to)
        };
        rows.retain(|row| !is_handled(row));
        rows
    }

    /// The report.
    pub fn rows(&self) -> Vec<Row> {
        let row = |(key, entry): (&Key, &Entry)| row(key, entry, self.totals.get(key).copied());
        self.entries.iter().map(row).collect()
    }
}

/// The topic of parameter events, which every node in ROS 2 publishes. Its type has no counterpart in ROS 1.
const PARAMETER_EVENTS: &str = "/parameter_events";

/// The topics that have a publisher and no subscriber, without those of these ROS 1 actions and those that tools hide.
fn waiting(ends: &BTreeMap<String, Ends>, actions: &BTreeMap<String, Action>) -> Vec<WaitingRow> {
    let is_of_action =
        |topic: &str| topic.rsplit_once('/').is_some_and(|(name, _)| actions.contains_key(name));
    let is_listed = |topic: &str| !is_hidden(topic) && topic != PARAMETER_EVENTS && !is_of_action(topic);
    let row = |topic: &String, ends: &Ends, direction: Direction| WaitingRow {
        topic: topic.clone(),
        to: report::destination(direction).to_owned(),
        type_name: match direction {
            Direction::ToRos2 => ends.ros1_type.as_ref(),
            Direction::ToRos1 => ends.ros2_published.first(),
        }
        .map(|announced| announced.name.clone()),
    };
    let listed = ends.iter().filter(|(topic, _)| is_listed(topic));
    listed
        .flat_map(|(topic, ends)| Direction::BOTH.map(|direction| (topic, ends, direction)))
        .filter(|(_, ends, direction)| ends.view.is_waiting(*direction))
        .map(|(topic, ends, direction)| row(topic, ends, direction))
        .collect()
}

fn with_directions(topic: &str) -> [Key; 2] {
    Direction::BOTH.map(|direction| (topic.to_owned(), direction))
}

fn carried((topic, direction): &Key) -> Carried<'_> {
    Carried { kind: "topic", name: topic, direction: *direction }
}

fn row((topic, direction): &Key, entry: &Entry, ended: Option<Counts>) -> Row {
    let mut row = Row {
        topic: topic.clone(),
        to: report::destination(*direction).to_owned(),
        state: State::Connecting,
        ros1_type: None,
        ros2_type: None,
        messages: 0,
        dropped: 0,
        refused: 0,
        remarks: Vec::new(),
    };
    let mut counts = ended.unwrap_or_default();
    match entry {
        Entry::OtherBridge(other) => row.state = State::OtherBridge(bridge_node_name(other.0)),
        Entry::Refused { reason, .. } => row.state = State::Refused(reason.clone()),
        Entry::Carried(carrier) => {
            counts = counts.plus(carrier.counts());
            row.remarks = carrier.forward().remarks();
            if carrier.is_complete() {
                row.state = State::Carried;
            }
            if let Some(pair) = carrier.pair() {
                row.ros1_type = Some(spelt(Generation::Ros1, Kind::Message, &pair.ros1.def.name));
                row.ros2_type = Some(pair.ros2.def.ros2_name.clone());
            }
        }
    }
    (row.messages, row.dropped, row.refused) = (counts.messages, counts.dropped, counts.refused);
    row
}

#[cfg(test)]
mod tests {
    use super::*;
    use runnel_bridge::AnnouncedType;
    use runnel_bridge::decision::TopicView;

    #[test]
    fn published_topic_without_a_subscriber_waits() {
        let published = Ends {
            view: TopicView { ros1_publishers: 1, ..TopicView::default() },
            ros1_type: Some(AnnouncedType { name: "std_msgs/String".into(), ..AnnouncedType::default() }),
            ..Ends::default()
        };
        let carried = Ends {
            view: TopicView { ros2_subscriptions: vec![runnel::QoS::default()], ..published.view.clone() },
            ..published.clone()
        };
        let ends = [
            ("/old", &published),
            ("/carried", &carried),
            ("/_hidden", &published),
            ("/parameter_events", &published),
            ("/dock/feedback", &published),
            ("/none", &Ends::default()),
        ];
        let ends = ends.map(|(topic, ends)| (topic.to_owned(), ends.clone())).into();
        let rows = waiting(&ends, &BTreeMap::from([("/dock".to_owned(), Action::default())]));
        let type_name = Some("std_msgs/String".to_owned());
        assert_eq!(rows, [WaitingRow { topic: "/old".into(), to: "ros2".into(), type_name }]);
    }
}
