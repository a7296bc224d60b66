//! Which node is to move, and when. Time and measurements are arguments: there is no I/O.
//!
//! A rule begins to apply when its conditions have held for some time, and ends when those of `until` have. A node moves to
//! where the first rule that applies says, or home, and then rests. What is not measured changes nothing.

#[cfg(test)]
mod simulation;
#[cfg(test)]
mod tests;

use std::time::{Duration, Instant};

use super::condition::{Condition, Evaluated, Now};
use super::duration::shown;
use super::quantity::Measurements;
use super::rules::{Conditions, NodeRules, Rule, Rules};

/// Decides by rules.
#[derive(Debug)]
pub struct Engine {
    rules: Rules,
    nodes: Vec<NodeState>,
}

/// A node that is to move.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Move {
    pub node: String,
    pub to: String,
    /// Why, with the measured values.
    pub why: String,
}

#[derive(Debug)]
struct NodeState {
    /// Where it is. Not known until it has been moved: a node that is already there stays.
    at: Option<String>,
    last_move: Option<Instant>,
    rules: Vec<RuleState>,
    /// What has ended the last rule that applied.
    ended: Option<String>,
}

#[derive(Clone, Debug, Default)]
struct RuleState {
    /// What has made the rule apply, if it does.
    applies: Option<String>,
    /// Since when the conditions hold that would change this.
    since: Option<Instant>,
}

/// The instant for which conditions are evaluated, and what was measured.
#[derive(Clone, Copy)]
struct Scene<'m> {
    now: Now,
    measurements: &'m Measurements,
    stale: Duration,
}

impl Engine {
    pub fn new(rules: Rules) -> Self {
        let state = |node: &NodeRules| NodeState {
            at: None,
            last_move: None,
            rules: vec![RuleState::default(); node.rules.len()],
            ended: None,
        };
        let nodes = rules.nodes.iter().map(state).collect();
        Self { rules, nodes }
    }

    /// The nodes that are to move now. They rest from now on, whether that succeeds or not.
    pub fn update(&mut self, now: Now, measurements: &Measurements) -> Vec<Move> {
        let scene = Scene { now, measurements, stale: self.rules.stale };
        let mut moves = Vec::new();
        for (node, state) in self.rules.nodes.iter().zip(&mut self.nodes) {
            for (rule, rule_state) in node.rules.iter().zip(&mut state.rules) {
                let ended = rule_state.update(rule, scene);
                state.ended = ended.or(state.ended.take());
            }
            moves.extend(state.decide(node, scene));
        }
        moves
    }

    /// A move has succeeded.
    pub fn handle_moved(&mut self, moved: &Move) {
        let nodes = self.rules.nodes.iter().zip(&mut self.nodes);
        for (_, state) in nodes.filter(|(node, _)| *node.name.get_ref() == moved.node) {
            state.at = Some(moved.to.clone());
        }
    }

    /// What the rules say of one instant, without regard to how long conditions have held.
    pub fn explain(&self, now: Now, measurements: &Measurements) -> Vec<Explanation> {
        let scene = Scene { now, measurements, stale: self.rules.stale };
        let explain = |node: &NodeRules| {
            let rules: Vec<_> = node.rules.iter().map(|rule| ExplainedRule::of(rule, scene)).collect();
            let is_known = rules.iter().all(|rule| rule.applies.is_some());
            let first = rules.iter().find(|rule| rule.applies == Some(true));
            let to = first.map(|rule| rule.to.clone()).or_else(|| is_known.then(|| node.home.clone()));
            Explanation { node: node.name.get_ref().clone(), home: node.home.clone(), to, rules }
        };
        self.rules.nodes.iter().map(explain).collect()
    }
}

impl RuleState {
    /// Follows the conditions. Returns what has ended the rule, if it ends.
    fn update(&mut self, rule: &Rule, scene: Scene<'_>) -> Option<String> {
        let holds = |conditions: &Conditions| scene.holds(conditions) == Some(true);
        let changes = match (&self.applies, rule.until()) {
            (None, _) => holds(&rule.when) && !rule.unless.as_ref().is_some_and(holds),
            (Some(_), Some(until)) => holds(until),
            (Some(_), None) => scene.holds(&rule.when) == Some(false),
        };
        if !changes {
            self.since = None;
            return None;
        }
        let since = *self.since.get_or_insert(scene.now.steady);
        if scene.now.steady.saturating_duration_since(since) < rule.hold {
            return None;
        }
        self.since = None;
        let held = shown(rule.hold);
        if self.applies.take().is_none() {
            self.applies = Some(format!("{}: {} for {held}", rule.name, scene.text(&rule.when)));
            return None;
        }
        let why =
            rule.until().map_or_else(|| format!("not {}", scene.text(&rule.when)), |until| scene.text(until));
        Some(format!("{} ended: {why} for {held}", rule.name))
    }
}

impl NodeState {
    fn decide(&mut self, node: &NodeRules, scene: Scene<'_>) -> Option<Move> {
        let now = scene.now.steady;
        let rests = self.last_move.is_some_and(|last| now.saturating_duration_since(last) < node.rest);
        if rests {
            return None;
        }
        let mut rules = node.rules.iter().zip(&self.rules);
        let applying = rules.find_map(|(rule, state)| Some((&rule.to, state.applies.clone()?)));
        let is_pending = || {
            let is_known = |rule: &Rule| scene.holds(&rule.when).is_some();
            self.rules.iter().any(|rule| rule.since.is_some()) || !node.rules.iter().all(is_known)
        };
        let (to, why) = match applying {
            Some(applying) => applying,
            // At first it is not known where the node is: it goes home only when no rule may begin to apply soon.
            None if self.at.is_none() && is_pending() => return None,
            None => (&node.home, self.ended.clone().unwrap_or_else(|| "no rule applies".to_owned())),
        };
        if self.at.as_ref() == Some(to) {
            return None;
        }
        self.last_move = Some(now);
        Some(Move { node: node.name.get_ref().clone(), to: to.clone(), why })
    }
}

impl Scene<'_> {
    fn evaluate(&self, condition: &Condition) -> Evaluated {
        condition.evaluate(self.now, self.measurements, self.stale)
    }

    /// Whether all conditions hold. `None` if that is not known.
    fn holds(&self, conditions: &Conditions) -> Option<bool> {
        let mut all = Some(true);
        for condition in &conditions.0 {
            match self.evaluate(condition).holds {
                Some(true) => {}
                Some(false) => return Some(false),
                None => all = None,
            }
        }
        all
    }

    /// The conditions with the measured values.
    fn text(&self, conditions: &Conditions) -> String {
        let shown =
            |condition: &Condition| format!("{} ({})", condition.text, self.evaluate(condition).measured);
        conditions.0.iter().map(shown).collect::<Vec<_>>().join(" and ")
    }
}

/// What the rules say of one node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explanation {
    pub node: String,
    pub home: String,
    /// Where it is to be. `None` if too little is measured.
    pub to: Option<String>,
    pub rules: Vec<ExplainedRule>,
}

/// What one rule says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExplainedRule {
    pub name: String,
    pub to: String,
    /// `None` if too little is measured.
    pub applies: Option<bool>,
    /// Its conditions, with the measured values.
    pub why: String,
}

impl ExplainedRule {
    fn of(rule: &Rule, scene: Scene<'_>) -> Self {
        let is_barred = rule.unless.as_ref().is_some_and(|unless| scene.holds(unless) == Some(true));
        let bar = rule.unless.as_ref().map(|unless| format!(", unless {}", scene.text(unless)));
        Self {
            name: rule.name.clone(),
            to: rule.to.clone(),
            applies: scene.holds(&rule.when).map(|holds| holds && !is_barred),
            why: scene.text(&rule.when) + &bar.unwrap_or_default(),
        }
    }
}
