use runnel_ros1::node::Port;

use super::*;

/// A scripted peer that listens for raw bytes, and a socket of another to it.
fn pair(net: &mut Net) -> (Socket, Socket) {
    let (client, server) = (net.fake("client", "a"), net.fake("server", "b"));
    net.open_door(server, 5, Port::Tcpros);
    let out = net.dial(client, "b", 5);
    (out, net.accept_socket(server))
}

#[test]
fn bytes_arrive_in_order_however_they_are_split_and_delayed() {
    let text: Vec<u8> = (0..=255).collect();
    for seed in 0..50 {
        let mut net = Net::new(seed);
        net.weather = Weather::rough();
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
        net.weather = Weather::rough();
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
fn who_connects_where_nobody_listens_is_refused_and_a_host_without_name_is_unknown() {
    let mut net = Net::new(1);
    let caller = net.fake("caller", "a");
    net.fake("other", "b");
    let refused = net.call(caller, "http://b:9/", "getPid", &[]).expect_err("nobody listens");
    assert!(refused.to_string().contains("refused"), "{refused}");
    let unknown = net.call(caller, "http://nowhere:9/", "getPid", &[]).expect_err("no such host");
    assert!(unknown.to_string().contains("not known"), "{unknown}");
}

#[test]
fn a_socket_that_was_half_closed_still_reads() {
    let mut net = Net::new(1);
    let (out, back) = pair(&mut net);
    net.finish_writing(out);
    net.settle();
    net.write(back, b"still");
    net.settle();
    assert_eq!((net.is_over(back), net.received(out), net.is_over(out)), (true, &b"still"[..], false));
    net.hang_up(back);
    net.settle();
    assert!(net.is_over(out));
}

#[test]
fn what_is_sent_before_the_end_arrives_before_it() {
    let mut net = Net::new(1);
    let (out, back) = pair(&mut net);
    net.write(out, b"last words");
    net.hang_up(out);
    net.settle();
    assert_eq!((net.received(back), net.is_over(back)), (&b"last words"[..], true));
}

#[test]
fn a_host_that_is_cut_off_gets_everything_when_it_is_mended() {
    let mut net = Net::new(1);
    let (out, back) = pair(&mut net);
    net.cut("b");
    net.write(out, b"one ");
    net.run_for(secs(100));
    net.write(out, b"two");
    assert_eq!(net.received(back), b"");
    net.mend("b");
    net.write(out, b" three");
    net.run_for(secs(2));
    assert_eq!(net.received(back), b"one two three");
}

#[test]
fn a_stopped_program_finds_everything_when_it_goes_on() {
    let mut net = Net::new(1);
    let (client, server) = (net.fake("client", "a"), net.fake("server", "b"));
    net.open_door(server, 5, Port::Tcpros);
    net.stall(server);
    let out = net.dial(client, "b", 5);
    net.write(out, b"hello");
    net.finish_writing(out);
    net.run_for(secs(1));
    assert_eq!(net.accepted_count(server), 0);
    net.resume(server);
    let back = net.accept_socket(server);
    assert_eq!((net.received(back), net.is_over(back)), (&b"hello"[..], true));
}

#[test]
fn the_connections_of_a_killed_program_end_also_those_it_never_accepted() {
    let mut net = Net::new(1);
    let (client, server) = (net.fake("client", "a"), net.fake("server", "b"));
    net.open_door(server, 5, Port::Tcpros);
    let first = net.dial(client, "b", 5);
    net.stall(server);
    let second = net.dial(client, "b", 5);
    net.kill(server);
    net.settle();
    assert!(net.is_over(first) && net.is_over(second) && !net.is_running(server));
    let third = net.begin_dial(client, "b", 5);
    net.settle();
    assert!(net.is_over(third), "nobody listens any more");
}

#[test]
#[should_panic(expected = "not within 3s: pigs fly")]
fn what_does_not_happen_in_time_ends_the_test() {
    Net::new(1).run_until("pigs fly", secs(3), |_| false);
}
