//! Runnel's master, and the original one beside it.

use runnel_testkit::process::{Peer, Signal, deadline_in, free_port};

use crate::PATIENCE;
use crate::graph::{Ros1Graph, await_master};

/// Which program serves as master.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Server {
    /// The original.
    Rosmaster,
    /// `runnel master`, without the node that gathers logs, which the original leaves to another program.
    Runnel,
}

impl Server {
    /// Both.
    pub const BOTH: [Server; 2] = [Server::Rosmaster, Server::Runnel];
}

/// A master of either kind, and the graph that it serves.
pub struct Master {
    /// Before the graph, so that the process ends before its folder does.
    process: Peer,
    graph: Ros1Graph,
    server: Server,
    port: u16,
}

impl Master {
    /// Starts the master on a port of its own, and returns when it accepts connections.
    pub fn start(server: Server) -> Master {
        let port = free_port();
        let graph = Ros1Graph::at(format!("http://127.0.0.1:{port}"));
        let process = serve(&graph, server, port);
        Master { process, graph, server, port }
    }

    /// The graph that this master serves.
    pub fn graph(&self) -> &Ros1Graph {
        &self.graph
    }

    /// The process, to signal it or to read what it said.
    pub fn process(&mut self) -> &mut Peer {
        &mut self.process
    }

    /// Kills the master (SIGKILL): all it knew is gone.
    pub fn kill(&mut self) {
        self.process.signal(Signal::KILL).unwrap();
        self.process.wait_exit(deadline_in(PATIENCE)).unwrap();
    }

    /// Starts a killed master anew at the same address.
    pub fn restart(&mut self) {
        self.process = serve(&self.graph, self.server, self.port);
    }
}

fn serve(graph: &Ros1Graph, server: Server, port: u16) -> Peer {
    let port_text = port.to_string();
    let mut process = match server {
        Server::Rosmaster => graph.tool("rosmaster", &["--core", "-p", &port_text]),
        Server::Runnel => graph.runnel("runnel", &["master", "--no-rosout", "--port", &port_text]),
    };
    await_master(&mut process, port);
    process
}
