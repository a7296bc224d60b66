use std::time::Duration;

use super::*;
use runnel_core::qos::{Durability, Reliability};

const OWN: Own = Own { id: BridgeId(5), carries: false };
const CARRIES: Own = Own { id: BridgeId(5), carries: true };

fn view(
    ros1_publishers: usize,
    ros1_subscribers: usize,
    publishers: usize,
    subscriptions: usize,
) -> TopicView {
    TopicView {
        ros1_publishers,
        ros1_subscribers,
        ros2_publishers: vec![QoS::default(); publishers],
        ros2_subscriptions: vec![QoS::default(); subscriptions],
        ..TopicView::default()
    }
}

#[test]
fn direction_needs_publisher_and_subscriber_in_different_graphs() {
    let (no, yes) = (Verdict::NotNeeded, Verdict::Carry);
    for (ends, to_ros2, to_ros1) in [
        ([0, 0, 0, 0], no, no),
        ([1, 1, 0, 0], no, no),
        ([0, 0, 1, 1], no, no),
        ([1, 0, 1, 0], no, no),
        ([0, 1, 0, 1], no, no),
        ([1, 0, 0, 1], yes, no),
        ([0, 1, 1, 0], no, yes),
        ([1, 1, 1, 1], yes, yes),
        ([2, 0, 0, 3], yes, no),
    ] {
        let [a, b, c, d] = ends;
        let view = view(a, b, c, d);
        for own in [OWN, CARRIES] {
            assert_eq!(decide(&view, Direction::ToRos2, Demand::Subscribed, own), to_ros2, "{ends:?}");
            assert_eq!(decide(&view, Direction::ToRos1, Demand::Subscribed, own), to_ros1, "{ends:?}");
        }
    }
}

#[test]
fn unsubscribed_topic_waits_unless_all_are_carried() {
    for (ends, waiting) in [
        ([1, 0, 0, 0], [true, false]),
        ([0, 0, 1, 0], [false, true]),
        ([1, 0, 0, 1], [false, false]),
        ([0, 1, 0, 1], [false, false]),
    ] {
        let [a, b, c, d] = ends;
        let view = view(a, b, c, d);
        assert_eq!(Direction::BOTH.map(|direction| view.is_waiting(direction)), waiting, "{ends:?}");
        for (direction, is_published) in [(Direction::ToRos2, a > 0), (Direction::ToRos1, c > 0)] {
            let carried = decide(&view, direction, Demand::Any, OWN) == Verdict::Carry;
            assert_eq!(carried, is_published, "{ends:?}");
        }
    }
    let other = TopicView { other_to_ros2: Some(BridgeId(9)), ..view(1, 0, 0, 0) };
    assert!(!other.is_waiting(Direction::ToRos2));
    assert_eq!(decide(&other, Direction::ToRos2, Demand::Any, OWN), Verdict::CarriedBy(BridgeId(9)));
}

#[test]
fn one_of_two_bridges_carries_a_direction() {
    for (other, own, expected) in [
        (BridgeId(9), OWN, Verdict::CarriedBy(BridgeId(9))),
        (BridgeId(1), OWN, Verdict::CarriedBy(BridgeId(1))),
        (BridgeId(9), CARRIES, Verdict::Carry),
        (BridgeId(1), CARRIES, Verdict::CarriedBy(BridgeId(1))),
    ] {
        let both = TopicView { other_to_ros2: Some(other), other_to_ros1: Some(other), ..view(1, 1, 1, 1) };
        for direction in Direction::BOTH {
            assert_eq!(decide(&both, direction, Demand::Subscribed, own), expected, "{other:?} {own:?}");
        }
        let one = TopicView { other_to_ros2: Some(other), ..view(1, 1, 1, 1) };
        assert_eq!(decide(&one, Direction::ToRos1, Demand::Subscribed, own), Verdict::Carry);
        let unneeded = TopicView { other_to_ros2: Some(other), ..view(0, 0, 0, 1) };
        assert_eq!(decide(&unneeded, Direction::ToRos2, Demand::Subscribed, own), Verdict::NotNeeded);
    }
}

#[test]
fn publisher_offers_what_subscriptions_request() {
    let second = Duration::from_secs(1);
    for subscriptions in [
        vec![],
        vec![QoS::sensor_data()],
        vec![QoS::default(), QoS::latched()],
        vec![QoS::default().deadline(second), QoS::default().deadline(second * 2)],
        vec![
            QoS::default().liveliness(Liveliness::ManualByTopic, Some(second)),
            QoS::default().liveliness(Liveliness::Automatic, Some(second / 2)),
        ],
    ] {
        for latched in [0, 1, 3] {
            let offered = ros2_publisher_qos(&subscriptions, latched, 100);
            for wanted in &subscriptions {
                assert_eq!(wanted.incompatible_with(&offered), [], "{offered:?}");
            }
            assert_eq!(offered.reliability, Reliability::Reliable);
            assert!(!is_outdated(&offered, &offered, &subscriptions));
        }
    }
}

#[test]
fn latched_publishers_each_keep_one_message() {
    let qos = ros2_publisher_qos(&[QoS::default()], 2, 100);
    assert_eq!((qos.durability, qos.depth), (Durability::TransientLocal, 2));
    let qos = ros2_publisher_qos(&[QoS::default()], 0, 100);
    assert_eq!((qos.durability, qos.depth), (Durability::Volatile, 100));
    let qos = ros2_publisher_qos(&[QoS::latched()], 0, 100);
    assert_eq!((qos.durability, qos.depth), (Durability::TransientLocal, 100));
}

#[test]
fn ros1_publisher_is_latched_for_transient_local_publishers() {
    assert!(!ros1_publisher_qos(&[QoS::default()], 7).is_latching());
    let qos = ros1_publisher_qos(&[QoS::default(), QoS::latched()], 7);
    assert!(qos.is_latching() && qos.depth == 7);
}

#[test]
fn publisher_is_replaced_only_when_it_offers_too_little() {
    let volatile = ros2_publisher_qos(&[QoS::default()], 0, 100);
    let latched = ros2_publisher_qos(&[QoS::latched()], 0, 100);
    assert!(is_outdated(&volatile, &latched, &[QoS::latched()]));
    assert!(!is_outdated(&latched, &volatile, &[QoS::default()]));
    let [one, two] = [1, 2].map(|count| ros2_publisher_qos(&[], count, 100));
    assert!(is_outdated(&one, &two, &[]) && !is_outdated(&two, &one, &[]));
    assert!(is_outdated(&volatile, &one, &[]));
}

#[test]
fn service_is_carried_while_only_one_graph_has_a_server() {
    let own = Own { id: BridgeId(5), carries: false };
    let verdicts = |view: &ServerView| Direction::BOTH.map(|direction| decide_server(view, direction, own));
    let (none, carry) = (Verdict::NotNeeded, Verdict::Carry);
    let view =
        |ros1_servers, ros2_servers| ServerView { ros1_servers, ros2_servers, ..ServerView::default() };
    assert_eq!(verdicts(&view(0, 0)), [none, none]);
    assert_eq!(verdicts(&view(1, 0)), [carry, none]);
    assert_eq!(verdicts(&view(0, 2)), [none, carry]);
    assert_eq!(verdicts(&view(1, 1)), [none, none]);
    assert_eq!(verdicts(&ServerView { has_dual_server: true, ..view(1, 0) }), [none, none]);
    let other = ServerView { other_to_ros2: Some(BridgeId(9)), ..view(1, 0) };
    assert_eq!(verdicts(&other), [Verdict::CarriedBy(BridgeId(9)), none]);
}
