//! Generates the action type that the ROS 2 originals have installed.

fn main() {
    runnel_gen::generate("interfaces");
}
