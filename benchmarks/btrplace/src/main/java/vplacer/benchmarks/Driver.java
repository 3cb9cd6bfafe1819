package vplacer.benchmarks;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.btrplace.model.DefaultModel;
import org.btrplace.model.Mapping;
import org.btrplace.model.Model;
import org.btrplace.model.Node;
import org.btrplace.model.VM;
import org.btrplace.model.constraint.Among;
import org.btrplace.model.constraint.Fence;
import org.btrplace.model.constraint.Running;
import org.btrplace.model.constraint.SatConstraint;
import org.btrplace.model.constraint.Spread;
import org.btrplace.model.view.ShareableResource;
import org.btrplace.plan.ReconfigurationPlan;
import org.btrplace.scheduler.SchedulerException;
import org.btrplace.scheduler.choco.ChocoScheduler;
import org.btrplace.scheduler.choco.DefaultChocoScheduler;

/**
 * Lets BtrPlace place all VMs of an instance, or, where it finds no plan for all, as many as it can.
 *
 * <p>Arguments: the file (see {@link Asked}), whole seconds an attempt, whole seconds in all. BtrPlace
 * finds a plan for all VMs that are to run or none, so the most it can place is found shape after shape, in
 * the order of the file: as many VMs of a shape as there is a plan for, beside those of the shapes before,
 * found by halving. Prints one JSON object: the attempts, and for the best of them the number of each VM
 * that runs (as in the file, from 0) and the nodes of its parts.
 */
public final class Driver {
    private final Asked asked;
    private final List<String> attempts = new ArrayList<>();
    private List<Integer> running = new ArrayList<>();
    private List<List<Integer>> best = new ArrayList<>();
    private long end;
    private int attemptSeconds;

    private Driver(Asked asked) {
        this.asked = asked;
    }

    public static void main(String[] arguments) throws IOException {
        Driver driver = new Driver(Asked.read(Path.of(arguments[0])));
        driver.search(Integer.parseInt(arguments[1]), Integer.parseInt(arguments[2]));
        driver.print();
    }

    private void search(int seconds, int allSeconds) {
        attemptSeconds = seconds;
        end = System.nanoTime() + allSeconds * 1_000_000_000L;
        Map<Integer, List<Integer>> shapes = new LinkedHashMap<>();
        List<Integer> all = new ArrayList<>();
        for (int at = 0; at < asked.wanted.size(); at++) {
            shapes.computeIfAbsent(asked.wanted.get(at).shape, ignored -> new ArrayList<>()).add(at);
            all.add(at);
        }
        if (attempt(all)) {
            return;
        }
        for (List<Integer> members : shapes.values()) {
            List<Integer> before = running;
            int most = 0;
            int failed = members.size() + 1;
            int next = members.size();
            while (failed - most > 1 && left() >= 1) {
                List<Integer> chosen = new ArrayList<>(before);
                chosen.addAll(members.subList(0, next));
                if (attempt(chosen)) {
                    most = next;
                } else {
                    failed = next;
                }
                next = (most + failed) / 2;
            }
        }
    }

    private long left() {
        return (end - System.nanoTime()) / 1_000_000_000L;
    }

    private boolean attempt(List<Integer> chosen) {
        Model model = new DefaultModel();
        List<Node> nodes = new ArrayList<>();
        Map<Integer, Collection<Node>> hosts = new LinkedHashMap<>();
        Mapping mapping = model.getMapping();
        for (int host : asked.hostOfNode) {
            Node node = model.newNode();
            mapping.addOnlineNode(node);
            nodes.add(node);
            hosts.computeIfAbsent(host, ignored -> new ArrayList<>()).add(node);
        }
        List<ShareableResource> resources = new ArrayList<>();
        for (int at = 0; at < asked.resources.size(); at++) {
            ShareableResource resource = new ShareableResource(asked.resources.get(at), 0, 0);
            for (int node = 0; node < nodes.size(); node++) {
                resource.setCapacity(nodes.get(node), asked.capacities.get(at)[node]);
            }
            resources.add(resource);
            model.attach(resource);
        }
        List<SatConstraint> constraints = new ArrayList<>();
        for (Asked.Guest guest : asked.staying) {
            add(guest, model, nodes, hosts.values(), resources, constraints);
        }
        List<List<VM>> guests = new ArrayList<>();
        for (int at : chosen) {
            guests.add(add(asked.wanted.get(at), model, nodes, hosts.values(), resources, constraints));
        }
        return solve(model, constraints, guests, chosen);
    }

    private static List<VM> add(
            Asked.Guest guest,
            Model model,
            List<Node> nodes,
            Collection<Collection<Node>> hosts,
            List<ShareableResource> resources,
            List<SatConstraint> constraints) {
        List<Node> allowed = new ArrayList<>();
        for (int node : guest.nodes) {
            allowed.add(nodes.get(node));
        }
        List<VM> parts = new ArrayList<>();
        for (int[] taken : guest.parts) {
            VM vm = model.newVM();
            model.getMapping().addReadyVM(vm);
            for (int at = 0; at < taken.length; at++) {
                resources.get(at).setConsumption(vm, taken[at]);
            }
            constraints.add(new Running(vm));
            if (allowed.size() < nodes.size()) {
                constraints.add(new Fence(vm, allowed));
            }
            parts.add(vm);
        }
        if (parts.size() > 1) {
            constraints.add(new Spread(new HashSet<>(parts)));
            constraints.add(new Among(parts, hosts));
        }
        return parts;
    }

    private boolean solve(
            Model model, List<SatConstraint> constraints, List<List<VM>> guests, List<Integer> chosen) {
        ChocoScheduler scheduler = new DefaultChocoScheduler();
        scheduler.doOptimize(false);
        scheduler.setTimeLimit((int) Math.max(1, Math.min(attemptSeconds, left())));
        long start = System.nanoTime();
        String outcome;
        ReconfigurationPlan plan = null;
        try {
            plan = scheduler.solve(model, constraints);
            outcome = plan != null ? "plan" : scheduler.getStatistics().completed() ? "none" : "time";
        } catch (SchedulerException error) {
            outcome = "refused: " + error.getMessage();
        }
        double took = (System.nanoTime() - start) / 1e9;
        attempts.add(
                String.format(
                        Locale.ROOT,
                        "{\"vms\": %d, \"seconds\": %.3f, \"outcome\": \"%s\"}",
                        chosen.size(),
                        took,
                        outcome.replaceAll("[^ -~]|[\"\\\\]", " ")));
        if (plan == null) {
            return false;
        }
        Mapping result = plan.getResult().getMapping();
        running = chosen;
        best = new ArrayList<>();
        for (List<VM> parts : guests) {
            List<Integer> where = new ArrayList<>();
            for (VM vm : parts) {
                where.add(result.getVMLocation(vm).id());
            }
            best.add(where);
        }
        return true;
    }

    private void print() {
        System.out.println(
                "{\"attempts\": ["
                        + String.join(", ", attempts)
                        + "], \"running\": "
                        + running
                        + ", \"nodes\": "
                        + best
                        + "}");
    }
}
