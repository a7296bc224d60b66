//! Frames as a tree, in the order in which it is drawn.

use std::collections::{BTreeMap, BTreeSet};

use runnel::tf::FrameInfo;

/// Parents before their children.
pub struct Tree {
    pub rows: Vec<Row>,
}

/// A frame in a tree.
pub struct Row {
    pub frame: FrameInfo,
    /// The row of its parent; `None` for a root, and for a frame of a loop, where drawing has to begin.
    pub parent: Option<usize>,
    pub depth: usize,
    /// Whether it is the last child of its parent.
    pub is_last: bool,
}

impl Tree {
    /// The tree of these frames, siblings by their names.
    pub fn new(mut frames: Vec<FrameInfo>) -> Self {
        frames.sort_by(|one, other| one.name.cmp(&other.name));
        let mut children: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        for (index, frame) in frames.iter().enumerate() {
            if let Some(parent) = &frame.parent {
                children.entry(parent.clone()).or_default().push(index);
            }
        }
        let (roots, others): (Vec<_>, Vec<_>) = (0..frames.len())
            .partition(|index| frames.get(*index).is_some_and(|frame| frame.parent.is_none()));
        let mut tree = Self { rows: Vec::new() };
        let mut drawn = BTreeSet::new();
        // Frames that no root leads to are in a loop or below one.
        for start in roots.into_iter().chain(others) {
            tree.add(start, &frames, &children, &mut drawn);
        }
        tree
    }

    /// Adds a frame with all below it that are not drawn yet.
    fn add(
        &mut self,
        start: usize,
        frames: &[FrameInfo],
        children: &BTreeMap<String, Vec<usize>>,
        drawn: &mut BTreeSet<usize>,
    ) {
        let mut waiting = vec![(start, None, 0, true)];
        while let Some((index, parent, depth, is_last)) = waiting.pop() {
            let Some(frame) = frames.get(index).filter(|_| drawn.insert(index)) else { continue };
            let row = self.rows.len();
            self.rows.push(Row { frame: frame.clone(), parent, depth, is_last });
            let below = children.get(&frame.name).map_or(&[][..], Vec::as_slice);
            let below = below.iter().filter(|child| !drawn.contains(child));
            let last = below.clone().next_back();
            waiting
                .extend(below.clone().rev().map(|child| (*child, Some(row), depth + 1, Some(child) == last)));
        }
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;

    /// A frame with a parent.
    pub fn frame(name: &str, parent: Option<&str>) -> FrameInfo {
        FrameInfo {
            name: name.to_owned(),
            parent: parent.map(str::to_owned),
            authority: "/driver".to_owned(),
            is_static: parent.is_some(),
            transforms: usize::from(parent.is_some()),
            oldest: None,
            latest: None,
        }
    }

    fn order(frames: Vec<FrameInfo>) -> Vec<(String, Option<usize>, usize)> {
        let rows = Tree::new(frames).rows.into_iter();
        rows.map(|row| (row.frame.name, row.parent, row.depth)).collect()
    }

    #[test]
    fn parents_come_before_their_sorted_children() {
        let frames = vec![
            frame("right", Some("base")),
            frame("base", Some("map")),
            frame("left", Some("base")),
            frame("map", None),
            frame("moon", None),
            frame("tip", Some("left")),
        ];
        let expected = [
            ("map", None, 0),
            ("base", Some(0), 1),
            ("left", Some(1), 2),
            ("tip", Some(2), 3),
            ("right", Some(1), 2),
            ("moon", None, 0),
        ];
        assert_eq!(order(frames), expected.map(|(name, parent, depth)| (name.to_owned(), parent, depth)));
    }

    #[test]
    fn each_frame_of_a_loop_is_drawn_once() {
        let frames = vec![
            frame("a", Some("c")),
            frame("b", Some("a")),
            frame("c", Some("b")),
            frame("d", Some("a")),
            frame("self", Some("self")),
        ];
        let names: Vec<_> = order(frames).into_iter().map(|(name, ..)| name).collect();
        assert_eq!(names, ["a", "b", "c", "d", "self"]);
    }

    #[test]
    fn deep_tree_needs_no_deep_stack() {
        let chain = (1..20_000).map(|depth| frame(&depth.to_string(), Some(&(depth - 1).to_string())));
        let frames: Vec<_> = chain.chain([frame("0", None)]).collect();
        assert_eq!(order(frames).last().map(|(_, _, depth)| *depth), Some(19_999));
    }
}
