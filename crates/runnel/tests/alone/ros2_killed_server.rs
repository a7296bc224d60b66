//! Servers of services in ROS 2 that are killed: their clients go to other ones before the lease of the dead participant
//! ends.

use std::time::Instant;

use crate::child_process::{print_line, run_role_if_child, start_at};
use crate::common::{LONG, block_on};
use crate::process::alone;
use crate::ros2_pair::{context, new_domain};
use runnel::msgs::std_srvs::srv::{SetBool, SetBoolRequest, SetBoolResponse};
use runnel::{Client, Context, Error};
use runnel_testkit::process::{Peer, Signal, deadline_in};

const ENTRY: &str = "ros2_killed_server::child_process_runs_its_role";

/// Serves until it is killed. Its responses name the process.
fn serve(domain: u16, ipc: bool) {
    let context = context(domain, ipc);
    let message = std::process::id().to_string();
    let answer = move |request: &SetBoolRequest| {
        Ok::<_, Error>(SetBoolResponse { success: request.data, message: message.clone() })
    };
    let node = context.create_node("server").unwrap();
    let _server = node.create_service::<SetBool, _>("power", answer).unwrap();
    print_line("ready");
    context.spin().unwrap();
}

#[test]
fn child_process_runs_its_role() {
    run_role_if_child(|role, domain| serve(domain.parse().unwrap(), role == "memory"));
}

fn server(domain: u16, role: &str) -> Peer {
    let mut server = start_at("", ENTRY, role, &domain.to_string());
    server.wait_for_line(|line| line == "ready", deadline_in(LONG.as_secs())).unwrap();
    server
}

fn client(domain: u16, role: &str) -> (Context, Client<SetBool>) {
    let context = context(domain, role == "memory");
    let client = context.create_node("client").unwrap().create_client("power").unwrap();
    (context, client)
}

/// The process that answers a call.
fn call(client: &Client<SetBool>) -> String {
    client.call_timeout(&SetBoolRequest { data: true }, LONG).unwrap().message
}

fn is_known(context: &Context, servers: usize) -> bool {
    context.wait_for_ros2_graph(LONG, |graph| graph.count_services("/power") == servers).unwrap()
}

/// The call is pending when the next server starts, which may take the address of the first one.
#[test]
fn waiting_client_of_killed_server_is_served_by_the_next_one() {
    let _alone = alone();
    for role in ["network", "memory"] {
        let domain = new_domain();
        let mut first = server(domain, role);
        let (context, client) = client(domain, role);
        (0..50).for_each(|_| assert_eq!(call(&client), first.id().to_string()));
        first.signal(Signal::KILL).unwrap();
        first.wait_exit(deadline_in(LONG.as_secs())).unwrap();
        let spinning = context.clone();
        let spinner = std::thread::spawn(move || spinning.spin().unwrap());
        let waiting = client.call_async(&SetBoolRequest { data: true });
        let second = server(domain, role);
        assert_eq!(block_on(waiting).unwrap().message, second.id().to_string(), "{role}");
        assert_eq!(call(&client), second.id().to_string());
        context.shutdown();
        spinner.join().unwrap();
    }
}

/// The next server is ready before the first one is killed, whose lease has not ended when the calls return.
#[test]
fn calls_leave_killed_server_for_one_that_is_ready() {
    let _alone = alone();
    for role in ["network", "memory"] {
        let domain = new_domain();
        let mut first = server(domain, role);
        let (context, client) = client(domain, role);
        assert_eq!(call(&client), first.id().to_string());
        let second = server(domain, role);
        assert!(is_known(&context, 2));
        first.signal(Signal::KILL).unwrap();
        first.wait_exit(deadline_in(LONG.as_secs())).unwrap();
        let until = Instant::now() + LONG;
        for _ in 0..3 {
            assert_eq!(call(&client), second.id().to_string(), "{role}");
            assert!(Instant::now() < until);
        }
        assert!(is_known(&context, 2), "{role}");
    }
}
