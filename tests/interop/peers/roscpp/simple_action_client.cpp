// Sends goals of 1, of 2 and of 4, which it cancels, to an action of actionlib/Test, one after the other; with `--preempt` then
// one of 4 and, while that is worked on, one of 1. Prints `feedback NUMBER VALUE` and `goal NUMBER STATUS RESULT TEXT` for
// each, then `done`.
#include <actionlib/TestAction.h>
#include <actionlib/client/simple_action_client.h>
#include <ros/callback_queue.h>

#include "peer.hpp"

using actionlib::SimpleClientGoalState;

/// Callbacks run on this thread while it waits: with a thread of its own for them, SimpleActionClient complains of an answer
/// that comes before it keeps the handle of the goal that it has sent, whoever the server is.
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
    heard_ = false;
    client_.sendGoal(goal, {}, {}, [this, number](const actionlib::TestFeedbackConstPtr& message) {
      std::cout << "feedback " << number << " " << message->feedback << std::endl;
      heard_ = true;
    });
  }

  void wait_until_active() {
    wait_until([&] { return client_.getState() == SimpleClientGoalState::ACTIVE && heard_; });
  }

  void cancel() { client_.cancelGoal(); }

  void tell() {
    wait_until([&] { return client_.getState().isDone(); });
    const SimpleClientGoalState end = client_.getState();
    std::cout << "goal " << number_ << " " << end.toString() << " " << client_.getResult()->result << " "
              << end.getText() << std::endl;
  }

 private:
  template <class IsSo>
  static void wait_until(IsSo is_so) {
    const ros::WallTime deadline = ros::WallTime::now() + ros::WallDuration(60);
    while (!is_so()) {
      if (ros::WallTime::now() > deadline) fail("the deadline passed");
      ros::getGlobalCallbackQueue()->callAvailable(ros::WallDuration(0.01));
    }
  }

  [[noreturn]] static void fail(const char* why) {
    std::cerr << why << std::endl;
    std::exit(1);
  }

  actionlib::SimpleActionClient<actionlib::TestAction> client_;
  int number_ = 0;
  bool heard_ = false;
};

int main(int argc, char** argv) {
  ros::init(argc, argv, "simple_action_client");
  const peer::Options options(argc, argv, {"--preempt"});
  Client first(options.topic), second(options.topic);
  for (const int number : {1, 2}) {
    first.send(number);
    first.tell();
  }
  first.send(4);
  first.wait_until_active();
  first.cancel();
  first.tell();
  if (options.flag("--preempt")) {
    first.send(4);
    first.wait_until_active();
    second.send(1);
    first.tell();
    second.tell();
  }
  std::cout << "done" << std::endl;
  return 0;
}
