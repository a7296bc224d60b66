use runnel_io::Listener;

use super::*;

#[test]
fn a_client_that_takes_no_answers_may_ask_no_more() {
    let listener = Listener::bind(([127, 0, 0, 1], 0).into()).unwrap();
    // The kernel takes connections before anybody accepts them; nobody reads this one.
    let stream = Arc::new(Stream::connect(listener.address()).unwrap());
    let reactor = Arc::new(Reactor::new().unwrap());
    reactor.add(&*stream, Token(1), Interest::Read).unwrap();
    let client = ClientLink::new(reactor, Token(1), stream, true, Unsent::default(), Duration::from_secs(30));
    let answer = vec![0; 1 << 20];
    let asked = (0..1000).take_while(|_| {
        let may = client.admit(10) == Admission::Accepted;
        if may {
            client.answer(10, &answer);
        }
        may
    });
    let megabytes = asked.count();
    assert!((MOST_BYTES >> 20..300).contains(&megabytes), "{megabytes} MB of answers were kept");
}
