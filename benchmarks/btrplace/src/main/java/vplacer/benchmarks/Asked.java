package vplacer.benchmarks;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * An instance as the driver reads it: one fact a line, words parted by blanks.
 *
 * <pre>
 * node HOST                       a NUMA node of a host, both numbered from 0
 * resource NAME C0 C1 ...         what each node has of it
 * vm SHAPE NODES                  a VM to place; NODES = those it may use, parted by commas; VMs of one
 *                                 SHAPE, a number, are alike and follow each other
 * stays NODES                     a VM that runs already and may be on any of the nodes
 * part R0 R1 ...                  a part of the last VM, on one node: what it takes of each resource
 * </pre>
 *
 * The parts of a VM lie on different nodes of one host.
 */
final class Asked {
    final List<Integer> hostOfNode = new ArrayList<>();
    final List<String> resources = new ArrayList<>();
    final List<int[]> capacities = new ArrayList<>();
    final List<Guest> staying = new ArrayList<>();
    final List<Guest> wanted = new ArrayList<>();

    static final class Guest {
        final int shape;
        final int[] nodes;
        final List<int[]> parts = new ArrayList<>();

        Guest(int shape, int[] nodes) {
            this.shape = shape;
            this.nodes = nodes;
        }
    }

    static Asked read(Path file) throws IOException {
        Asked asked = new Asked();
        Guest last = null;
        for (String line : Files.readAllLines(file)) {
            String[] words = line.split(" ");
            switch (words[0]) {
                case "node":
                    asked.hostOfNode.add(Integer.valueOf(words[1]));
                    break;
                case "resource":
                    asked.resources.add(words[1]);
                    asked.capacities.add(numbers(words, 2));
                    break;
                case "vm":
                    last = new Guest(Integer.parseInt(words[1]), numbers(words[2].split(","), 0));
                    asked.wanted.add(last);
                    break;
                case "stays":
                    last = new Guest(-1, numbers(words[1].split(","), 0));
                    asked.staying.add(last);
                    break;
                case "part":
                    if (last == null) {
                        throw new IOException("a part before its VM");
                    }
                    last.parts.add(numbers(words, 1));
                    break;
                default:
                    throw new IOException("unknown line: " + line);
            }
        }
        return asked;
    }

    private static int[] numbers(String[] words, int from) {
        int[] found = new int[words.length - from];
        for (int at = 0; at < found.length; at++) {
            found[at] = Integer.parseInt(words[from + at]);
        }
        return found;
    }
}
