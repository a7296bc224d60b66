// Sends goals 1, 2 and 4 to an action of actionlib/Test, one after the other, and cancels 4. With `--preempt` it sends 4
// again, and 1 while 4 is active. Prints `feedback NUMBER VALUE` and `goal NUMBER STATUS RESULT TEXT` for each, then `done`.
#include <actionlib/TestAction.h>
#include <actionlib/client/simple_action_client.h>
#include <ros/callback_queue.h>

#include "peer.hpp"

using actionlib::SimpleClientGoalState;

/// Callbacks run on the waiting thread. With a separate thread, SimpleActionClient logs an error, with any server, if a
/// response arrives before it has stored the handle of the sent goal.
class Client {
 public:
  explicit Client(const std::string& action) : client_(action, false) {
    ros::AsyncSpinner spinner(1);
    spinner.start();
    if (!client_.waitForServer(ros::Duration(60))) fail("no server");
  }

  void send(int number) {
    number_ = number;
    actionlib::TestGoal goal;
    goal.goal = number;
    has_feedback_ = false;
    client_.sendGoal(goal, {}, {}, [this, number](const actionlib::TestFeedbackConstPtr& message) {
      std::cout << "feedback " << number << " " << message->feedback << std::endl;
      has_feedback_ = true;
    });
  }

  void wait_until_active() {
    wait_until([&] { return client_.getState() == SimpleClientGoalState::ACTIVE && has_feedback_; });
  }

  void cancel() { client_.cancelGoal(); }

  void print_result() {
    wait_until([&] { return client_.getState().isDone(); });
    const SimpleClientGoalState end = client_.getState();
    std::cout << "goal " << number_ << " " << end.toString() << " " << client_.getResult()->result << " "
              << end.getText() << std::endl;
  }

 private:
  template <class Condition>
  static void wait_until(Condition is_met) {
    const ros::WallTime deadline = ros::WallTime::now() + ros::WallDuration(60);
    while (!is_met()) {
      if (ros::WallTime::now() > deadline) fail("the deadline passed");
      ros::getGlobalCallbackQueue()->callAvailable(ros::WallDuration(0.01));
    }
  }

  [[noreturn]] static void fail(const char* reason) {
    std::cerr << reason << std::endl;
    std::exit(1);
  }

  actionlib::SimpleActionClient<actionlib::TestAction> client_;
  int number_ = 0;
  bool has_feedback_ = false;
};

int main(int argc, char** argv) {
  ros::init(argc, argv, "simple_action_client");
  const peer::Options options(argc, argv, {"--preempt"});
  Client first(options.topic), second(options.topic);
  for (const int number : {1, 2}) {
    first.send(number);
    first.print_result();
  }
  first.send(4);
  first.wait_until_active();
  first.cancel();
  first.print_result();
  if (options.flag("--preempt")) {
    first.send(4);
    first.wait_until_active();
    second.send(1);
    first.print_result();
    second.print_result();
  }
  std::cout << "done" << std::endl;
  return 0;
}
