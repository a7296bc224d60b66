//! Random faults; at the end every subscriber is linked to every living publisher exactly once.

use runnel_ros1::node::{NodeConfig, TopicSpec};
use runnel_testkit::net::{App, Conditions, Net, millis, secs, text_topic};

const TOPICS: [&str; 2] = ["/x", "/y"];

/// A node that dies and restarts, and its current topics.
struct Place {
    config: NodeConfig,
    app: App,
    alive: bool,
    stalled: bool,
    publishes: Vec<&'static str>,
    subscribes: Vec<&'static str>,
}

struct Storm {
    net: Net,
    master: Option<App>,
    places: Vec<Place>,
}

impl Storm {
    fn new(seed: u64) -> Self {
        let mut net = Net::new(seed);
        net.conditions = Conditions::rough();
        let master = Some(net.master("hub"));
        let mut places = Vec::new();
        for (name, host) in [("/a", "h1"), ("/b", "h2"), ("/c", "h3"), ("/d", "h3")] {
            let config = net.node_config(name, host);
            let app = net.start_node(config.clone());
            let (publishes, subscribes) = (Vec::new(), Vec::new());
            places.push(Place { config, app, alive: true, stalled: false, publishes, subscribes });
        }
        Self { net, master, places }
    }

    fn happen(&mut self) {
        let index = self.net.rng.below(self.places.len());
        match self.net.rng.below(12) {
            0 | 1 => drop(self.net.break_any()),
            2 | 3 if self.places[index].stalled => self.toggle_stall(index),
            2 => self.kill(index),
            3 => self.restart(index),
            4 => self.toggle_master(),
            5 => self.toggle_stall(index),
            6..=8 => self.toggle_publisher(index),
            9 | 10 => self.toggle_subscriber(index),
            _ => self.blackout(index),
        }
        let time = self.net.rng.between(millis(0), millis(1500));
        self.net.run_for(time);
    }

    fn kill(&mut self, index: usize) {
        let place = &mut self.places[index];
        if place.alive {
            self.net.kill(place.app);
            place.alive = false;
        }
    }

    /// Restarts a node, at ports chosen by the system, without topics.
    fn restart(&mut self, index: usize) {
        self.kill(index);
        let place = &mut self.places[index];
        place.config = self.net.node_config(&place.config.name, &place.config.host);
        place.app = self.net.start_node(place.config.clone());
        (place.alive, place.stalled) = (true, false);
        place.publishes.clear();
        place.subscribes.clear();
        self.toggle_publisher(index);
        self.toggle_subscriber(index);
    }

    fn toggle_master(&mut self) {
        match self.master.take() {
            Some(master) => self.net.kill(master),
            None => self.master = Some(self.net.master("hub")),
        }
    }

    fn toggle_stall(&mut self, index: usize) {
        let place = &mut self.places[index];
        match (place.alive, place.stalled) {
            (true, false) => self.net.stall(place.app),
            (true, true) => self.net.resume(place.app),
            (false, _) => return,
        }
        place.stalled = !place.stalled;
    }

    fn toggle_publisher(&mut self, index: usize) {
        let topic = TOPICS[self.net.rng.below(TOPICS.len())];
        let place = &mut self.places[index];
        if !place.alive || place.stalled {
            return;
        }
        if place.publishes.contains(&topic) {
            place.publishes.retain(|has| *has != topic);
            self.net.with_node(place.app, |node, now| node.unadvertise(now, topic));
        } else {
            place.publishes.push(topic);
            self.net.advertise(place.app, topic);
        }
    }

    fn toggle_subscriber(&mut self, index: usize) {
        let topic = TOPICS[self.net.rng.below(TOPICS.len())];
        let place = &mut self.places[index];
        if !place.alive || place.stalled {
            return;
        }
        if place.subscribes.contains(&topic) {
            place.subscribes.retain(|has| *has != topic);
            self.net.with_node(place.app, |node, now| node.unsubscribe(now, topic));
        } else {
            place.subscribes.push(topic);
            // One of the topics uses UDPROS.
            let spec = TopicSpec { udpros: topic == TOPICS[1], ..text_topic(topic) };
            self.net.subscribe_as(place.app, spec);
        }
    }

    /// A host is unreachable for less than the master waits for an answer.
    fn blackout(&mut self, index: usize) {
        let host = self.places[index].config.host.clone();
        let time = self.net.rng.between(millis(0), secs(5));
        self.net.disconnect_host(&host);
        self.net.run_for(time);
        self.net.reconnect_host(&host);
    }

    /// Resumes everything that was stopped, starts the master, and lets time pass.
    fn calm_down(&mut self) {
        for index in 0..self.places.len() {
            if self.places[index].stalled {
                self.toggle_stall(index);
            }
        }
        if self.master.is_none() {
            self.toggle_master();
        }
        self.net.run_for(secs(90));
    }

    /// The living publishers of a topic: other nodes by name, the node itself by its URI.
    fn expected(&self, subscriber: &Place, topic: &str) -> Vec<String> {
        let living = self.places.iter().filter(|place| place.alive && place.publishes.contains(&topic));
        let name = |place: &Place| {
            if place.app == subscriber.app { place.config.uri() } else { place.config.name.clone() }
        };
        let mut names: Vec<String> = living.map(name).collect();
        names.sort();
        names
    }

    fn check_links(&self, seed: u64) {
        for place in self.places.iter().filter(|place| place.alive) {
            assert!(self.net.is_running(place.app), "seed {seed}: {} was stopped", place.config.name);
            for topic in TOPICS {
                let subscribed = place.subscribes.contains(&topic);
                let expected = if subscribed { self.expected(place, topic) } else { Vec::new() };
                let has = self.net.publishers(place.app, topic);
                assert_eq!(has, expected, "seed {seed}: {} on {topic}", place.config.name);
            }
        }
    }

    /// One message from every publisher reaches every subscriber once.
    fn check_messages(&mut self, seed: u64) {
        let living: Vec<usize> = (0..self.places.len()).filter(|index| self.places[*index].alive).collect();
        let before: Vec<usize> =
            living.iter().map(|index| self.net.received_texts(self.places[*index].app).len()).collect();
        for index in &living {
            let place = &self.places[*index];
            place.publishes.iter().for_each(|topic| self.net.publish(place.app, topic, &place.config.name));
        }
        self.net.run_for(secs(1));
        for (index, before) in living.iter().zip(before) {
            let place = &self.places[*index];
            let expected: usize =
                place.subscribes.iter().map(|topic| self.expected(place, topic).len()).sum();
            let received = self.net.received_texts(place.app).len() - before;
            assert_eq!(received, expected, "seed {seed}: {}", place.config.name);
        }
    }

    fn check_master(&self, seed: u64) {
        let master = self.net.master_of(self.master.expect("it was started"));
        let living = self.places.iter().filter(|place| place.alive);
        let registrations: usize = living.map(|place| place.publishes.len() + place.subscribes.len()).sum();
        assert_eq!(master.registration_count(), registrations, "seed {seed}: at the master");
        assert_eq!(self.net.leaks(), Vec::<String>::new(), "seed {seed}");
    }
}

fn run_storm(seed: u64) {
    let mut storm = Storm::new(seed);
    for index in 0..4 {
        storm.toggle_publisher(index);
        storm.toggle_subscriber(index);
    }
    for _ in 0..25 {
        storm.happen();
    }
    storm.calm_down();
    storm.check_links(seed);
    storm.check_master(seed);
    storm.check_messages(seed);
}

// After every storm, all living publishers are received once. Split into parts that run on several processors.

#[test]
fn storms_of_first_seeds_recover() {
    (0..50).for_each(run_storm);
}

#[test]
fn storms_of_second_seeds_recover() {
    (50..100).for_each(run_storm);
}

#[test]
fn storms_of_third_seeds_recover() {
    (100..150).for_each(run_storm);
}

#[test]
fn storms_of_last_seeds_recover() {
    (150..200).for_each(run_storm);
}
