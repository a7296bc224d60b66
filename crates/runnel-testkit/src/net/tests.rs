use runnel_ros1::node::Port;

use super::*;

/// A listening scripted peer, and a raw connection to it.
fn pair(net: &mut Net) -> (Socket, Socket) {
    let (client, server) = (net.fake("client", "a"), net.fake("server", "b"));
    net.listen(server, 5, Port::Tcpros);
    let out = net.connect_socket(client, "b", 5);
    (out, net.accept_socket(server))
}

#[test]
fn bytes_arrive_in_order_under_any_conditions() {
    let text: Vec<u8> = (0..=255).collect();
    for seed in 0..50 {
        let mut net = Net::new(seed);
        net.conditions = Conditions::rough();
        let (out, back) = pair(&mut net);
        text.chunks(7).for_each(|part| net.write(out, part));
        net.settle();
        assert_eq!(net.received(back), text, "seed {seed}");
    }
}

#[test]
fn equal_seeds_give_equal_runs() {
    let run = |seed| {
        let mut net = Net::new(seed);
        net.conditions = Conditions::rough();
        net.master("hub");
        let (talker, listener) = (net.node("/talker", "a"), net.node("/listener", "b"));
        net.advertise(talker, "/chatter");
        net.subscribe(listener, "/chatter");
        net.run_for(secs(2));
        net.trace.to_string()
    };
    assert_eq!(run(3), run(3));
    assert_ne!(run(3), run(4));
}

#[test]
fn closed_port_refuses_and_unknown_host_fails() {
    let mut net = Net::new(1);
    let caller = net.fake("caller", "a");
    net.fake("other", "b");
    let refused = net.call(caller, "http://b:9/", "getPid", &[]).expect_err("no listener");
    assert!(refused.to_string().contains("refused"), "{refused}");
    let unknown = net.call(caller, "http://nowhere:9/", "getPid", &[]).expect_err("no such host");
    assert!(unknown.to_string().contains("not known"), "{unknown}");
}

#[test]
fn half_closed_socket_still_receives() {
    let mut net = Net::new(1);
    let (out, back) = pair(&mut net);
    net.finish_writing(out);
    net.settle();
    net.write(back, b"still");
    net.settle();
    assert_eq!((net.is_over(back), net.received(out), net.is_over(out)), (true, &b"still"[..], false));
    net.close_socket(back);
    net.settle();
    assert!(net.is_over(out));
}

#[test]
fn bytes_before_end_arrive_before_it() {
    let mut net = Net::new(1);
    let (out, back) = pair(&mut net);
    net.write(out, b"last words");
    net.close_socket(out);
    net.settle();
    assert_eq!((net.received(back), net.is_over(back)), (&b"last words"[..], true));
}

#[test]
fn reconnected_host_gets_everything() {
    let mut net = Net::new(1);
    let (out, back) = pair(&mut net);
    net.disconnect_host("b");
    net.write(out, b"one ");
    net.run_for(secs(100));
    net.write(out, b"two");
    assert_eq!(net.received(back), b"");
    net.reconnect_host("b");
    net.write(out, b" three");
    net.run_for(secs(2));
    assert_eq!(net.received(back), b"one two three");
}

#[test]
fn resumed_program_gets_everything() {
    let mut net = Net::new(1);
    let (client, server) = (net.fake("client", "a"), net.fake("server", "b"));
    net.listen(server, 5, Port::Tcpros);
    net.stall(server);
    let out = net.connect_socket(client, "b", 5);
    net.write(out, b"hello");
    net.finish_writing(out);
    net.run_for(secs(1));
    assert_eq!(net.accepted_count(server), 0);
    net.resume(server);
    let back = net.accept_socket(server);
    assert_eq!((net.received(back), net.is_over(back)), (&b"hello"[..], true));
}

#[test]
fn connections_of_killed_program_end() {
    let mut net = Net::new(1);
    let (client, server) = (net.fake("client", "a"), net.fake("server", "b"));
    net.listen(server, 5, Port::Tcpros);
    let first = net.connect_socket(client, "b", 5);
    net.stall(server);
    let second = net.connect_socket(client, "b", 5);
    net.kill(server);
    net.settle();
    assert!(net.is_over(first) && net.is_over(second) && !net.is_running(server));
    let third = net.begin_connect(client, "b", 5);
    net.settle();
    assert!(net.is_over(third), "no listener any more");
}

#[test]
#[should_panic(expected = "not within 3s: pigs fly")]
fn unmet_condition_fails_the_test() {
    Net::new(1).run_until("pigs fly", secs(3), |_| false);
}
