//! Service client of `std_srvs/SetBool`: calls `--count` times with true, then once with false, then with true on one
//! persistent connection. Prints `answer MESSAGE` or `failed TEXT` for each, then `done`.

use std::time::Duration;

use interop::messages::{Options, log_to_standard_error};
use runnel::msgs::std_srvs::srv::{SetBool, SetBoolRequest};
use runnel::{Client, Context, Error};

/// Time limit for the service to appear.
const TIMEOUT: Duration = Duration::from_secs(30);

fn main() -> Result<(), Error> {
    log_to_standard_error();
    let context = Context::new()?;
    let options = Options::of(&context, &[]);
    let node = context.create_node("caller")?;
    let once = node.create_client::<SetBool>(&options.topic)?;
    assert!(once.wait_for_service(TIMEOUT)?, "no server of {}", options.topic);
    let count = options.number("--count", 3.0) as usize;
    (0..count).for_each(|_| call(&once, true));
    call(&once, false);
    let persistent = node.create_persistent_client::<SetBool>(&options.topic)?;
    (0..count).for_each(|_| call(&persistent, true));
    println!("done");
    Ok(())
}

fn call(client: &Client<SetBool>, data: bool) {
    match client.call(&SetBoolRequest { data }) {
        Ok(response) => println!("answer {}", response.message),
        Err(error) => println!("failed {error}"),
    }
}
