//! Count of matched publishers of a subscription: a publisher that both graphs have matched counts once.

use super::subscription::LinkInfo;

/// The number of links of a subscription to the publishers of each dual node.
#[derive(Debug, Default)]
pub(super) struct MatchedPublishers(Vec<Node>);

#[derive(Debug)]
struct Node {
    dual_node_id: u64,
    ros1: i64,
    ros2: i64,
}

impl Node {
    /// In ROS 1, all publishers of a node share one link; in ROS 2, there is one per QoS.
    fn publishers(&self) -> i64 {
        if self.ros2 > 0 { self.ros2 } else { self.ros1 }
    }
}

impl MatchedPublishers {
    /// Changes the number of links to a publisher. Returns the change in the number of publishers.
    pub(super) fn change(&mut self, from: &LinkInfo, by: i64) -> i64 {
        let Some(dual_node_id) = from.dual_node_id else { return by };
        let place = self.0.iter().position(|node| node.dual_node_id == dual_node_id).unwrap_or_else(|| {
            self.0.push(Node { dual_node_id, ros1: 0, ros2: 0 });
            self.0.len() - 1
        });
        let node = &mut self.0[place];
        let before = node.publishers();
        let links = if from.encoding.is_ros1() { &mut node.ros1 } else { &mut node.ros2 };
        *links += by;
        let change = node.publishers() - before;
        if (node.ros1, node.ros2) == (0, 0) {
            self.0.swap_remove(place);
        }
        change
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use runnel_core::wire::Encoding;

    #[test]
    fn publisher_in_both_graphs_counts_once() {
        let link = |dual_node_id, encoding| LinkInfo { dual_node_id, encoding, ..LinkInfo::default() };
        let [ros1, ros2] = [Encoding::Ros1, Encoding::Xcdr1].map(|encoding| link(Some(7), encoding));
        let mut publishers = MatchedPublishers::default();
        for (from, by, change) in [(&ros1, 1, 1), (&ros2, 1, 0), (&ros2, 1, 1), (&ros1, -1, 0), (&ros1, 1, 0)]
        {
            assert_eq!(publishers.change(from, by), change);
        }
        assert_eq!((publishers.change(&ros2, -2), publishers.change(&ros1, -1)), (-1, -1));
        assert!(publishers.0.is_empty());
        let of_one = link(None, Encoding::Ros1);
        assert_eq!((publishers.change(&of_one, 1), publishers.change(&of_one, 1)), (1, 1));
    }
}
